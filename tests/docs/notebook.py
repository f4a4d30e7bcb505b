"""The tutorial as a notebook, and the notebook's output as a page: `python -m tests.docs.notebook` writes both."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat as formats
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

from tests.docs.blocks import ROOT

nbformat: Any = formats  # its functions have no types
TUTORIAL = ROOT / "docs" / "tutorial.md"
NOTEBOOK = ROOT / "examples" / "tutorial.ipynb"
PAGE = ROOT / "docs" / "tutorial-notebook.md"
HEAD = """# The tutorial as a notebook

Made by `make docs-notebook`: [the notebook](../examples/tutorial.ipynb) is [the tutorial](tutorial.md), and this page shows what it prints.
"""
_PARTS = re.compile(r"^```python\n(.*?)^```\n(?:prints\n```\n.*?^```\n)?", re.MULTILINE | re.DOTALL)


def make_notebook() -> Any:
    """A cell for each piece of text and of code; what the page says is printed is left to the run."""
    cells, end, text = [], 0, TUTORIAL.read_text(encoding="utf-8")
    for part in _PARTS.finditer(text):
        cells += [("markdown", text[end : part.start()]), ("code", part[1])]
        end = part.end()
    cells.append(("markdown", text[end:]))
    made = [_cell(number, kind, source.strip()) for number, (kind, source) in enumerate(cells) if source.strip()]
    return nbformat.v4.new_notebook(
        cells=made, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )


def _cell(number: int, kind: str, source: str) -> Any:
    new = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
    return new(source, id=f"cell-{number}")


def execute(notebook: Any, folder: Path) -> Any:
    """The notebook with the outputs of a run in a folder, by a kernel and a Spark of its own."""
    return NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()


def execute_here(notebook: Any) -> Any:
    """The same in this process and folder, with the Spark that is there."""
    new_shell: Any = InteractiveShell  # which has no types, either
    shell = new_shell()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            with contextlib.redirect_stdout(io.StringIO()) as text:
                shell.run_cell(cell.source, silent=True).raise_error()
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text.getvalue())]
    return notebook


def render(notebook: Any) -> str:
    """The text, the code, and under it what it printed."""
    parts = [HEAD]
    for cell in notebook.cells[1:]:  # the first one is the tutorial's title and introduction
        parts.append(cell.source if cell.cell_type == "markdown" else f"```py\n{cell.source}\n```")
        parts += [f"```\n{printed(cell).rstrip()}\n```"] if printed(cell).strip() else []
    return "\n\n".join(parts) + "\n"


def printed(cell: Any) -> str:
    return "".join(output.text for output in cell.get("outputs", ()) if output.get("name") == "stdout")


def main() -> None:
    notebook = make_notebook()
    NOTEBOOK.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        PAGE.write_text(render(execute(notebook, Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
