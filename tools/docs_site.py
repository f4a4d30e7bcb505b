"""What MkDocs does to make the site: the root's pages join those of docs/, and every page finds its place by itself.

A new page of docs/ needs no entry anywhere: it is listed under Guides unless it is named below.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
PROJECT = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
SECTIONS = {
    "Learn": ("tutorial.md", "tutorial-notebook.md", "concepts.md", "notebooks.md", "page.md", "operations.md"),
    "Sources and sinks": ("sources.md", "folders.md", "postgres.md", "kafka.md", "lakes.md", "spark-sources.md"),
    "Reference": ("reference.md", "statements.md", "sql.md", "functions.md", "types.md", "session.md", "limits.md"),
    "Measurements": (
        "costs.md",
        "refresh.md",
        "scaling.md",
        "cluster-faults.md",
        "tpch.md",
        "operators.md",
        "orderbook.md",
        "views.md",
        "create.md",
        "load.md",
        "opening.md",
        "source-rates.md",
        "soak.md",
        "loops-figures.md",
        "matrix-figures.md",
        "signals-figures.md",
        "fuzz.md",
    ),
}
_LINK = re.compile(r"(\]\()([^)#\s]+)")


def on_config(config: Any) -> Any:
    """The navigation: what has a section of its own, then all other pages, in the order of their titles."""
    there = {path.name for path in (ROOT / "docs").glob("*.md")}
    listed = {"internals.md", *(page for pages in SECTIONS.values() for page in pages)}
    guides = sorted(there - listed, key=_title)
    parts = {"Learn": SECTIONS["Learn"], "Guides": guides, **{k: v for k, v in SECTIONS.items() if k != "Learn"}}
    nav: list[Any] = [{"Home": "index.md"}]
    nav += [{title: [page for page in pages if page in there]} for title, pages in parts.items()]
    config["nav"] = [*nav, {"Project": ["ARCHITECTURE.md", "internals.md", *PROJECT[1:]]}]
    return config


def _title(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def on_files(files: Files, config: Any) -> Files:
    """The pages of the root, and the files that pages link to."""
    texts = {"index.md": _read("README.md"), **{name: _read(name) for name in PROJECT}}
    for name, text in texts.items():
        files.append(File.generated(config, name, content=_LINK.sub(_from_root, text)))
    linked = [_read(f"docs/{page.name}") for page in (ROOT / "docs").glob("*.md")]
    for target in sorted({m[2] for text in linked for m in _LINK.finditer(text) if m[2].startswith("../")}):
        _add(files, config, target.removeprefix("../"))
    for target in sorted({m[2] for text in texts.values() for m in _LINK.finditer(text)}):
        if not target.startswith(("docs/", "http")):
            _add(files, config, target)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of docs/ to the root stay within the site."""
    return _LINK.sub(_from_docs, markdown)


def _add(files: Files, config: Any, path: str) -> None:
    """A file of the root, as it is; of a folder, nothing: it has no page."""
    place = ROOT / path
    if place.is_file() and files.get_file_from_path(path) is None and path != "README.md":
        files.append(File.generated(config, path, abs_src_path=str(place)))


def _from_root(link: re.Match[str]) -> str:
    target = link[2].removeprefix("docs/")
    return link[1] + ("index.md" if target == "README.md" else _without_folder(target))


def _from_docs(link: re.Match[str]) -> str:
    target = link[2].removeprefix("../")
    return link[1] + ("index.md" if target == "README.md" else _without_folder(target))


def _without_folder(target: str) -> str:
    """A link to a folder leads to the project's page about where things are."""
    return "ARCHITECTURE.md" if (ROOT / target).is_dir() else target


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
