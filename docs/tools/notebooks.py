"""Notebooks: run them, and show them as pages of the site."""

import html
import json
import re
import sys
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def as_page(text, name):
    """Return a notebook as Markdown, with its outputs below the code."""
    parts = [_cell(cell) for cell in json.loads(text)["cells"]]
    title, first, *rest = "\n\n".join(parts).split("\n\n", 2)
    return "\n\n".join([title, first, f"[Download this notebook]({name})", *rest])


def _cell(cell):
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *map(_output, cell["outputs"])])


def _output(output):
    """Return an output in its richest form."""
    if output["output_type"] == "stream":
        return _shown("".join(output["text"]))
    data = {kind: "".join(value) for kind, value in output["data"].items()}
    if "text/html" in data:
        return f'<div class="output" markdown="0">{_one_line(data["text/html"])}</div>'
    if "image/png" in data:
        return f'<img class="output" alt="output" src="data:image/png;base64,{data["image/png"].strip()}">'
    return _shown(data["text/plain"])


def _shown(text):
    return f'<pre class="output" tabindex="0">{html.escape(text)}</pre>'  # a wide one scrolls


def _one_line(markup):
    """Return markup without blank lines, which would end it in Markdown."""
    return re.sub(r"\s*\n\s*", " ", markup.strip())


def run(path):
    """Return a notebook with the outputs of running it in its own folder, and nothing that differs between runs."""
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=None, kernel_name="python3").execute(cwd=str(path.parent))
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            cell["outputs"] = _tidied(cell["outputs"])
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return nbformat.writes(notebook) + "\n"


def _tidied(outputs):
    """Return outputs with consecutive streams joined, and without a plain form next to a rich one."""
    tidied = []
    for output in outputs:
        if output["output_type"] == "stream" and tidied and tidied[-1].get("name") == output["name"]:
            tidied[-1]["text"] += output["text"]
            continue
        if "text/html" in output.get("data", {}):
            output["data"] = {"text/html": output["data"]["text/html"]}
        tidied.append(output)
    return tidied


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or sorted(NOTEBOOKS.glob("*.ipynb"))):
        path.write_text(run(path), "utf-8")
