"""The official data at any scale, as the package `tpcgen-cli` generates them: what the C generator would write."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from viewlet.columns.arrow_types import arrow_type
from workloads.tpcds import TABLES

SCHEMAS = {
    name: pa.schema([pa.field(f.name, arrow_type(f.type), f.nullable) for f in made.fields])
    for name, made in TABLES.items()
}


def tables(scale: float, folder: Path, names: Iterable[str] = tuple(TABLES)) -> dict[str, pa.Table]:
    """Tables of a scale (1 is 2.9 million store sales), generated into `folder` where they are not there yet."""
    wanted = list(names)
    if missing := [name for name in wanted if not _file(folder, scale, name).exists()]:
        _generate(scale, folder, missing)
    return {name: pq.read_table(_file(folder, scale, name)).cast(SCHEMAS[name]) for name in wanted}


def _file(folder: Path, scale: float, name: str) -> Path:
    return folder / f"sf{scale:g}" / f"{name}.parquet"


def _generate(scale: float, folder: Path, names: list[str]) -> None:
    """Generate elsewhere, then move: a file that is there is whole."""
    partial = folder / f"sf{scale:g}.partial"
    arguments = ["--scale-factor", f"{scale:g}", "--tables", ",".join(names), "--output-dir", str(partial)]
    subprocess.run([generator() or "tpcgen-cli", "tpcds", "parquet", "--quiet", "--overwrite", *arguments], check=True)
    for name in names:
        target = _file(folder, scale, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        (partial / f"{name}.parquet").replace(target)
    shutil.rmtree(partial)


def generator() -> str | None:
    """The program that generates: beside the interpreter that runs this, or where the shell would find it."""
    return shutil.which("tpcgen-cli", path=str(Path(sys.executable).parent)) or shutil.which("tpcgen-cli")
