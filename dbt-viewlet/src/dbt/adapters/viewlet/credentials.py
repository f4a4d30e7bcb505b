"""What a profile says: where the warehouse is, and how it is opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from dbt.adapters.contracts.connection import Credentials
from dbt.adapters.viewlet.relation import MAIN


@dataclass
class ViewletCredentials(Credentials):
    """A warehouse; `database` is what dbt calls it, by default the name of its folder."""

    database: str = ""
    schema: str = MAIN
    path: str = "warehouse"
    """A folder, or an address such as `s3://bucket/path`."""
    engine: Literal["auto", "inproc", "spark"] = "auto"
    read_only: bool = False
    """For tests, docs and freshness while another process writes to the warehouse."""
    spark: dict[str, Any] = field(default_factory=dict)
    """Settings of the Spark session; without any, Viewlet starts one as it does by itself, when it needs one."""

    def __post_init__(self) -> None:
        self.database = self.database or PurePosixPath(self.path).stem or "warehouse"

    @property
    def type(self) -> str:
        return "viewlet"

    @property
    def unique_field(self) -> str:
        return self.path

    def _connection_keys(self) -> tuple[str, ...]:
        return "path", "database", "schema", "engine", "read_only"
