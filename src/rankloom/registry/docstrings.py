"""Docstrings as plain text, for pages, lists of names and the demo's texts."""

import inspect
import re
from html.entities import html5

SECTION = re.compile(
    r"^(?:Parameters|Attributes|Returns|Examples)\n-+\n.*?(?=^\w[\w ]*\n-+\n|\Z)", flags=re.MULTILINE | re.DOTALL
)
FORMULA = re.compile(r":math:`([^`]*)`|^\.\. math::(.*(?:\n+ +.*)*)", flags=re.MULTILINE)
MARKUP = re.compile(r":\w+:`([^`]*)`|``|^-{3,}$|`", flags=re.MULTILINE)
GROUP = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
#: LaTeX commands that HTML has no character of the same name for; names of functions stay as they are.
SYMBOLS = {"cdot": "·", "dots": "…", "lVert": "‖", "rVert": "‖"}
SYMBOLS |= {name: name for name in ("min", "max", "log", "ln", "cos", "sqrt")}


def summary(documented: object) -> str:
    r"""Return the first line of a docstring as plain text.

    Examples
    --------
    >>> def jaccard():
    ...     r'''Similarity of sets, :math:`|A \cap B| / |A \cup B|`, see `dice`.'''
    >>> summary(jaccard)
    'Similarity of sets, |A ∩ B| / |A ∪ B|, see dice.'
    """
    return plain_text(documented).partition("\n")[0]


def plain_text(documented: object) -> str:
    """Return a docstring as plain text, without parameters, results and examples."""
    told = SECTION.sub("", inspect.cleandoc(documented.__doc__ or ""))
    plain = MARKUP.sub(r"\1", FORMULA.sub(lambda found: _plain_formula(found[1] or found[2]), told))
    return re.sub(r"\n{2,}", "\n\n", plain).strip()


def _plain_formula(formula: str) -> str:
    r"""Return LaTeX as plain text.

    Examples
    --------
    >>> _plain_formula(r"\mathrm{RRF}(d) = \sum_r \frac{w_r}{c + \rho_{r,q}(d)}")
    'RRF(d) = ∑_r w_r / (c + ρ_r,q(d))'
    """
    plain = re.sub(rf"\\frac{GROUP}{GROUP}", lambda found: " / ".join(map(_bracketed, found.groups())), formula)
    plain = re.sub(r"\\([A-Za-z]+)", lambda found: SYMBOLS.get(found[1], html5.get(f"{found[1]};", "")), plain)
    return " ".join(re.sub(r"[{}]", "", re.sub(r"\\[,;!]|\\(?=\W)", " ", plain)).split())


def _bracketed(part: str) -> str:
    return f"({part})" if " " in part else part
