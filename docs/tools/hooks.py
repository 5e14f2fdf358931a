"""What mkdocs does for the site beyond Markdown: formulas, notebooks, and links to files of the repository."""

import html
import posixpath
import re
from pathlib import Path

from latex2mathml.converter import convert
from mkdocs.structure.files import File
from notebooks import as_page

ROOT = Path(__file__).parents[2]
SOURCE = "source"  # folder of the site with files of the repository that pages link to
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")  # in the navigation

_LINK = re.compile(r"(\]\()((?!\w+:|#)[^)#\s]+)(#[^)\s]*)?(\))")
_FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\s*\\[(\[](.*?)\\[)\]]\s*</\1>', flags=re.DOTALL
)  # as pymdownx.arithmatex leaves them
_FENCED = re.compile(r"(^ *```.*?^ *```|`[^`\n]+`)", flags=re.MULTILINE | re.DOTALL)
_LANGUAGES = {".py": "python", ".toml": "toml", ".sh": "sh", ".lua": "lua"}


def on_files(files, config):
    """Turn notebooks into pages, and add pages for the files of the repository that others link to."""
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        page = as_page(Path(notebook.abs_src_path).read_text("utf-8"), Path(notebook.src_uri).name)
        files.append(File.generated(config, _site_path(f"docs/{notebook.src_uri}"), content=page))
    pages = [f"docs/{file.src_uri}" for file in files.documentation_pages() if file.abs_src_path]
    for target in sorted(_linked(pages) | set(PROJECT)):
        if _site_path(target).startswith(f"{SOURCE}/"):
            files.append(File.generated(config, _site_path(target), content=_source_page(target)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Point links to where their targets are on the site."""
    here = page.file.src_uri
    repository = here[len(SOURCE) + 1 :] if here.startswith(f"{SOURCE}/") else f"docs/{here}"

    def moved(match):
        opening, link, anchor, closing = match.groups()
        target = _site_path(posixpath.normpath(posixpath.join(posixpath.dirname(repository), link)))
        if target.startswith("notebooks/") and here == target:
            return match[0]  # a notebook's page links to the notebook itself
        return f"{opening}{posixpath.relpath(target, posixpath.dirname(here) or '.')}{anchor or ''}{closing}"

    parts = _FENCED.split(markdown)  # code at odd places
    return "".join(part if i % 2 else _LINK.sub(moved, part) for i, part in enumerate(parts))


def on_page_content(content, page, config, files):
    """Render formulas as MathML, which needs neither scripts nor fonts."""
    return _FORMULA.sub(_mathml, content)


def _mathml(match):
    display = "block" if match[1] == "div" else "inline"
    formula = convert(html.unescape(match[2]).strip(), display=display)
    # A wide formula scrolls, for which the keyboard must reach it.
    return formula.replace("<math ", '<math tabindex="0" ', 1) if display == "block" else formula


def _linked(pages):
    """Return the files that pages link to, those that these link to, and so on."""
    known, waiting = set(), [*pages, *PROJECT]
    while waiting:
        new = _targets(waiting.pop()) - known
        known |= new
        waiting += [target for target in new if target.endswith(".md")]
    return known


def _targets(page):
    """Return the files of the repository that a page links to."""
    text = _FENCED.sub("", (ROOT / page).read_text("utf-8"))
    links = (link for _, link, _, _ in _LINK.findall(text))
    paths = {posixpath.normpath(posixpath.join(posixpath.dirname(page), link)) for link in links}
    return {path for path in paths if (ROOT / path).exists()}


def _site_path(path):
    """Return where a file of the repository is on the site."""
    if path.startswith("docs/") and not path.endswith(".py"):
        inside = path.removeprefix("docs/")
        return inside.removesuffix(".ipynb") + ".md" if inside.endswith(".ipynb") else inside
    return f"{SOURCE}/{path}" if path.endswith(".md") else f"{SOURCE}/{path}.md"


def _source_page(path):
    """Return the page that shows a file or lists a folder of the repository."""
    target = ROOT / path
    if path.endswith(".md"):
        return target.read_text("utf-8")
    if target.is_dir():
        names = sorted(one.name for one in target.iterdir())
        return "\n".join([f"# {path}", "", *(f"- `{name}`" for name in names if not name.startswith(("_", ".")))])
    return f"# {path}\n\n```{_LANGUAGES.get(target.suffix, '')}\n{target.read_text('utf-8')}```\n"
