"""The laws of the project that no linter knows: who may import what, and what no file may contain."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "viewlet"
SOURCES = sorted(SOURCE.rglob("*.py"))
PURE = ("plan", "compile", "program")
HEAVY = {"pyspark", "py4j", "duckdb"}
TEXTS = (".py", ".md", ".toml", ".txt", ".in", ".lock", ".sql", ".yml", ".yaml", ".cfg", ".sh", "")
LEFT_OUT = {".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "__pycache__", "warehouse"}


def module_of(path: Path) -> str:
    """The dotted name of a source file."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in SOURCES}


def imports_of(path: Path) -> Iterator[str]:
    """The modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def reached_from(start: str) -> dict[str, str]:
    """Every module that importing `start` may import, each with the one that asks for it."""
    found, waiting = {start: ""}, [start]
    while waiting:
        name = waiting.pop()
        if name not in MODULES:
            continue
        for wanted in imports_of(MODULES[name]):
            if wanted not in found and (wanted in MODULES or not wanted.startswith("viewlet")):
                found[wanted] = name
                waiting.append(wanted)
    return found


BASE = {"errors", "arguments", "formatting"}
"""Modules at the root that everybody may import."""


def layers() -> dict[str, set[str]]:
    """What each folder may import from, as the table of ARCHITECTURE.md says."""
    lines = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if re.match(r"\| `\w+/` \|", line)]
    return {folder.strip("`/"): set(re.findall(r"\w+", allowed)) for _, folder, _, allowed, *_ in rows}


def edges(path: Path) -> set[str]:
    """The other folders and root modules that a source file imports from, except for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            node.body = []
    found = (n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom))
    return {name.split(".")[1] for name in found if name.startswith("viewlet.")}


@pytest.mark.parametrize("path", [p for p in SOURCES if len(p.relative_to(SOURCE).parts) > 1], ids=module_of)
def test_folders_import_from_the_layers_below(path: Path) -> None:
    folder = path.relative_to(SOURCE).parts[0]
    assert edges(path) - BASE - {folder} <= layers()[folder]


def test_importing_viewlet_loads_no_spark() -> None:
    code = "import sys, viewlet; sys.exit(any(m.split('.')[0] in ('pyspark', 'py4j', 'duckdb') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("module", [m for m in MODULES if m.split(".")[1:2] and m.split(".")[1] in PURE])
def test_the_compiler_needs_neither_spark_nor_duckdb(module: str) -> None:
    heavy = {name: by for name, by in reached_from(module).items() if name.split(".")[0] in HEAVY}
    assert not heavy, f"{module} must stay pure Python"


def test_the_pure_folders_were_found() -> None:
    assert {m.split(".")[1] for m in MODULES if "." in m} >= set(PURE)


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_only_the_command_line_prints(path: Path) -> None:
    if {"cli", "demo"} & set(path.parts):
        return
    calls = (n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call))
    prints = [n.lineno for n in calls if isinstance(n.func, ast.Name) and n.func.id == "print"]
    assert not prints


REACHING = re.compile(r"\b_(?:jvm|jsc|jdf|jsparkSession|gateway)\b|\borg\.apache\b")
SEAM = {
    "viewlet.spark.session.handles",
    "viewlet.spark.session.jvm",
    "viewlet.spark.session.versions",
    "viewlet.spark.session.session",
    "viewlet.spark.session.gateway",
}


@pytest.mark.parametrize("path", [p for p in SOURCES if module_of(p) not in SEAM], ids=module_of)
def test_one_place_reaches_into_the_jvm(path: Path) -> None:
    assert not REACHING.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_sources_are_finished(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    marks = re.findall(r"\b(?:TODO|FIXME|XXX|HACK|NotImplementedError)\b|except Exception\b|except:", text)
    assert not marks
    assert text.count("\n") <= 500, "ask what the second idea in there is"


def project_files() -> list[Path]:
    """The text files of the project, without what tools leave behind."""
    found = []
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and path.suffix in TEXTS and not LEFT_OUT & set(parts) and not _is_left_behind(path):
            found.append(path)
    return sorted(found)


def _is_left_behind(path: Path) -> bool:
    return ".egg-info" in str(path) or path.relative_to(ROOT).parts[0].startswith(".venv-spark-")


# Written in pieces, so that this file does not contain what it forbids.
FORBIDDEN = re.compile(
    "|".join(
        ["py" + r"pi\.org", "python" + r"hosted", "npm" + r"js\.", "deb" + r"ian\.org", "/ro" + "ot/", "/wo" + "rk/"]
    )
)


def test_no_file_names_a_registry_or_a_machine() -> None:
    bad = [str(p.relative_to(ROOT)) for p in project_files() if FORBIDDEN.search(p.read_text(encoding="utf-8"))]
    assert not bad


def test_every_locked_package_has_a_hash() -> None:
    for lock in ("requirements.lock", "requirements-build.lock", "requirements-sparks.lock"):
        entries = re.split(r"\n(?=\S)", (ROOT / lock).read_text(encoding="utf-8").strip())
        assert entries
        assert all(re.match(r"[\w.-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)


def test_what_is_declared_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for requirement in declared:
        name = re.match(r"[\w.-]+", requirement)
        assert name is not None
        assert re.search(rf"^{name[0]}==", locked, re.MULTILINE), f"{requirement}: run make lock"


def test_ci_runs_what_the_readme_says() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme


def test_every_make_command_has_help() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    for target in phony[1].split():
        assert re.search(rf"^{target}:.*## \w", text, re.MULTILINE), target
