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

import viewlet
from tests.docs import promises

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "viewlet"
SOURCES = sorted(SOURCE.rglob("*.py"))
PURE = ("plan", "compile", "program")
HEAVY = {"pyspark", "py4j", "duckdb"}
TEXTS = (".py", ".md", ".toml", ".txt", ".json", ".in", ".lock", ".sql", ".yml", ".yaml", ".cfg", ".sh", "")
LEFT_OUT = {
    ".git",
    ".venv",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    "__pycache__",
    "warehouse",
    "build",
}


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


BASE = {"errors", "arguments", "formatting", "progress", "extras"}
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
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} imports by a relative name"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    inner = {name.split(".")[1] for name in found if name.startswith("viewlet.")}
    return {name for name in inner if (SOURCE / name).is_dir() or (SOURCE / f"{name}.py").exists()}


def test_folders_import_from_the_layers_below() -> None:
    allowed = layers()
    folders = {path: path.relative_to(SOURCE).parts[0] for path in SOURCES if path.parent != SOURCE}
    bad = {module_of(p): more for p, f in folders.items() if (more := edges(p) - BASE - {f} - allowed[f])}
    assert not bad
    assert any(edges(path) - BASE - {folder} for path, folder in folders.items()), "imports are found at all"


def test_matrices_know_a_warehouse_only_through_their_tables() -> None:
    inner = [p for p in SOURCES if p.is_relative_to(SOURCE / "matrix") and "tables" not in p.parts]
    assert inner
    assert not {module_of(p): more for p in inner if (more := edges(p) - BASE - {"matrix"})}


PRIVATE = re.compile(r"\b(?!self\b|cls\b)\w+\._(?!_)\w")


@pytest.mark.parametrize("folder", ["ui", "monitor"])
def test_pages_and_metrics_stay_outside_the_public_surface(folder: str) -> None:
    files = [p for p in SOURCES if p.is_relative_to(SOURCE / folder)]
    assert files
    assert not [module_of(p) for p in files if PRIVATE.search(p.read_text(encoding="utf-8"))]


def test_only_the_spark_side_imports_pyspark_at_once() -> None:
    others = [p for p in SOURCES if not p.is_relative_to(SOURCE / "spark")]
    at_top = {
        module_of(p): names
        for p in others
        if (
            names := {name for node in ast.parse(p.read_text(encoding="utf-8")).body for name in _imported(node)}
            & HEAVY
        )
    }
    assert not at_top


def _imported(node: ast.stmt) -> list[str]:
    """The packages that a statement imports, if it is an import."""
    match node:
        case ast.Import(names):
            return [alias.name.split(".")[0] for alias in names]
        case ast.ImportFrom(module=str(module)):
            return [module.split(".")[0]]
    return []


def test_layers_are_in_order() -> None:
    above: set[str] = {"aggregates", "database"}
    for folder, allowed in layers().items():
        assert allowed <= above, folder
        above.add(folder)


def test_pages_about_the_code_name_files_that_exist() -> None:
    there = [f"/{path.relative_to(ROOT).as_posix()}" for top in (SOURCE, ROOT / "tests") for path in top.rglob("*.py")]
    texts = ((ROOT / page).read_text(encoding="utf-8") for page in ("ARCHITECTURE.md", "docs/internals.md"))
    named = {name for text in texts for name in re.findall(r"`([\w/]+\.py)`", text)}
    assert not [name for name in named if not any(path.endswith(f"/{name}") for path in there)]


def test_importing_viewlet_loads_no_spark() -> None:
    code = "import sys, viewlet; sys.exit(any(m.split('.')[0] in ('pyspark', 'py4j', 'duckdb', 'scipy', 'pandas') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("folder", PURE)
def test_the_compiler_needs_neither_spark_nor_duckdb(folder: str) -> None:
    modules = [m for m in MODULES if m.startswith(f"viewlet.{folder}.")]
    assert modules
    heavy = {m: name for m in modules for name in reached_from(m) if name.split(".")[0] in HEAVY}
    assert not heavy, f"{folder} must stay pure Python"


SHARED_NAMES = {
    "what every kind of maintained thing has": "check compiled create define evict explain maintained refresh view",
    "what every system of its own algebra has": "codec errors evaluate nodes plot program show",
    "what every compiler has": "cost fuse lower options",
    "a statement, and what carries it out": "alter queries schema statements",
    "methods of `Database`": "methods",
    "a seam, and one that plugs in": "source",
    "one idea in several systems": "checkpoints definitions deltas fill graph load moments progress run sessionize sums",
}
"""The file names that several folders have, by the idea that they share."""


def test_files_of_one_name_share_an_idea() -> None:
    known = {name for names in SHARED_NAMES.values() for name in names.split()}
    stems = [path.stem for path in SOURCES if path.stem not in ("__init__", "__main__")]
    assert {name for name in stems if stems.count(name) > 1} == known


PUBLIC = {
    viewlet.Epoch: "insert delete upsert replace number late rejected dropped",
    viewlet.Subscription: "wait cancel",
}
"""What completion offers to whoever holds one."""


def test_users_see_of_an_epoch_or_a_subscription_what_they_may_use() -> None:
    for kind, names in PUBLIC.items():
        assert {name for name in dir(kind) if not name.startswith("_")} == set(names.split())


REACHING = re.compile(r"\b_(?:jvm|jsc|jdf|jsparkSession|gateway)\b|\borg\.apache\b")
SEAM = {
    "viewlet.spark.session.handles",
    "viewlet.spark.session.jvm",
    "viewlet.spark.session.versions",
    "viewlet.spark.session.session",
    "viewlet.spark.session.gateway",
}


def test_one_place_reaches_into_the_jvm() -> None:
    others = [p for p in SOURCES if module_of(p) not in SEAM]
    assert not [module_of(p) for p in others if REACHING.search(p.read_text(encoding="utf-8"))]


def test_sources_are_finished() -> None:
    """What the linter does not see: unfinished methods, and files with a second idea in them."""
    texts = {module_of(p): p.read_text(encoding="utf-8") for p in SOURCES}
    assert not [name for name, text in texts.items() if "NotImplementedError" in text or text.count("\n") > 500]


def project_files() -> list[Path]:
    """The text files of the project, without what tools leave behind."""
    found = []
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if path.is_file() and path.suffix in TEXTS and not LEFT_OUT & set(parts) and not _is_left_behind(path):
            found.append(path)
    return sorted(found)


def _is_left_behind(path: Path) -> bool:
    return ".egg-info" in str(path) or path.relative_to(ROOT).parts[0].startswith(".venv-")


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
    for lock in sorted(path.name for path in ROOT.glob("requirements*.lock")):
        entries = re.split(r"\n(?=\S)", (ROOT / lock).read_text(encoding="utf-8").strip())
        assert entries
        assert all(re.match(r"[\w.-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)


def test_what_is_declared_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        needed for extra in ("bench", "plot", "test", "dev") for needed in project["optional-dependencies"][extra]
    ]
    declared = [*project["dependencies"], *(needed for needed in extras if not needed.startswith("viewlet["))]
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for requirement in declared:
        name = re.match(r"[\w.-]+", requirement)
        assert name is not None
        assert re.search(rf"^{name[0]}==", locked, re.MULTILINE), f"{requirement}: run make lock"


def test_what_pages_promise_is_tested() -> None:
    assert list(promises.stale()) == [], f"{promises.TABLE} has other words, or names of tests"


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
