"""A project's specification: `spark-pipeline.yml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viewlet.errors import ProjectError
from viewlet.plan.words import option_text

NAMES = ("spark-pipeline.yml", "spark-pipeline.yaml")
_FIELDS = {"name", "storage", "catalog", "database", "schema", "configuration", "libraries"}


@dataclass(frozen=True)
class Spec:
    """The specification of a project."""

    root: Path
    name: str
    qualifiers: frozenset[str] = frozenset()
    """The catalog and the schema that may qualify its names."""
    configuration: Mapping[str, str] = field(default_factory=dict)
    globs: tuple[str, ...] = ()

    def files(self) -> list[Path]:
        """The files with definitions, sorted by path."""
        found = {path for glob in self.globs for path in self.root.glob(f"{glob}/*" if glob.endswith("/**") else glob)}
        return sorted(path for path in found if path.suffix in (".py", ".sql") and path.is_file())


def find_spec(path: Path) -> Path:
    """The specification in a folder, or the file itself."""
    if path.is_file():
        return path
    for name in NAMES:
        if (path / name).is_file():
            return path / name
    raise ProjectError(f"there is no {NAMES[0]} in {path}", hint="name the project's folder; `viewlet init` makes one")


def read_spec(path: Path, parse: Callable[[str], Any]) -> Spec:
    """Parse a specification."""
    found = parse(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ProjectError(f"{path}: a specification has fields, such as name and libraries")
    if unknown := set(found) - _FIELDS:
        raise ProjectError(f"{path}: there is no field {min(unknown)}", hint=f"there are: {', '.join(sorted(_FIELDS))}")
    if not isinstance(found.get("name"), str):
        raise ProjectError(f"{path}: the project has no name", hint="name: …")
    qualifiers = [found[key] for key in ("catalog", "database", "schema") if found.get(key)]
    configuration = {str(k): option_text(v) for k, v in (found.get("configuration") or {}).items()}
    return Spec(
        path.resolve().parent,
        found["name"],
        frozenset(str(q).lower() for q in qualifiers),
        configuration,
        tuple(_glob(path, library) for library in found.get("libraries") or ()),
    )


def _glob(path: Path, library: Any) -> str:
    try:
        include = library["glob"]["include"]
    except (KeyError, TypeError):
        raise ProjectError(
            f"{path}: {library} is not a library", hint="- glob: {include: transformations/**}"
        ) from None
    return str(include)
