"""The references in a docstring as BibTeX."""

from __future__ import annotations

import inspect
import re
import unicodedata
from dataclasses import dataclass

SECTION = re.compile(r"^References\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", flags=re.MULTILINE | re.DOTALL)
#: Authors (year), title, where, doi:...; of these, authors and year are required, and a remark may come before.
REFERENCE = re.compile(r"(?:[\w-]+: )?(?P<authors>[^():;]+) \((?P<year>\d{4})\)(?:, (?P<rest>.*))?", re.DOTALL)
DOI = re.compile(r"(?:^|, )doi:(\S+)")
CONFERENCE = re.compile(r"[A-Z]+(-\d+)?")  # CVPR, TREC-2
SPECIAL = r"\&"  # in LaTeX
SMALL = {"a", "an", "the", "on", "of", "from", "to", "and"}


@dataclass(frozen=True, slots=True)
class Reference:
    """A publication."""

    authors: str
    year: str
    title: str
    venue: str
    doi: str

    @property
    def key(self) -> str:
        """First author, year and first word of the title: ``cormack2009reciprocal``."""
        words = [word for word in re.findall(r"\w+", self.title.lower()) if word not in SMALL]
        first = self.authors.split(",")[0].split(" et ")[0]
        plain = unicodedata.normalize("NFKD", f"{first}{self.year}{(words or [''])[0]}")
        return re.sub(r"[^a-z0-9]", "", plain.lower())

    @property
    def bibtex(self) -> str:
        """The publication as a BibTeX entry."""
        first, _, rest = self.venue.partition(", ")
        conference = CONFERENCE.fullmatch(first) is not None
        kind = ("inproceedings" if conference else "article") if first else "misc"
        place = "booktitle" if conference else "journal"
        authors = self.authors.replace(" et al.", ", others").replace(", ", " and ")
        fields = {"author": authors, "title": f"{{{self.title}}}", "year": self.year, place: first, "note": rest}
        lines = [
            f"  {name} = {{{value.replace('&', SPECIAL)}}},"
            for name, value in {**fields, "doi": self.doi}.items()
            if value.strip("{}")
        ]
        return "\n".join([f"@{kind}{{{self.key},", *lines, "}"])


def references(documented: object) -> list[Reference]:
    """Return the publications in a docstring, of a class without any those of the classes it is derived from.

    Examples
    --------
    >>> def fuse():
    ...     '''Fuse.
    ...
    ...     References
    ...     ----------
    ...     Fox, Shaw (1994), Combination of multiple searches, TREC-2, NIST SP 500-215
    ...     '''
    >>> print(references(fuse)[0].bibtex)
    @inproceedings{fox1994combination,
      author = {Fox and Shaw},
      title = {{Combination of multiple searches}},
      year = {1994},
      booktitle = {TREC-2},
      note = {NIST SP 500-215},
    }
    """
    for one in inspect.getmro(documented) if isinstance(documented, type) else (documented,):
        found = SECTION.search(inspect.cleandoc(one.__doc__ or ""))
        if found:
            parts = " ".join(found[1].split()).split("; ")
            return [_reference(match) for match in map(REFERENCE.match, parts) if match]
    return []


def _reference(match: re.Match[str]) -> Reference:
    rest = match["rest"] or ""
    doi = DOI.search(rest)
    pieces = DOI.sub("", rest).split(", ")
    n = next((i for i, piece in enumerate(pieces[1:], 1) if not piece[:1].islower()), len(pieces))
    title, venue = ", ".join(pieces[:n]), ", ".join(pieces[n:])
    return Reference(match["authors"], match["year"], title, venue, doi[1] if doi else "")
