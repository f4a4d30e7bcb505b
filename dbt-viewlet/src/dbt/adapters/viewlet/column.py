"""Columns with Spark's types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dbt.adapters.base.column import Column


@dataclass
class ViewletColumn(Column):
    """A column; its type is written as Spark's DDL, precision included."""

    TYPE_LABELS: ClassVar[dict[str, str]] = {"STRING": "string", "TEXT": "string", "FLOAT": "double", "INTEGER": "int"}

    @property
    def quoted(self) -> str:
        return "`" + self.column.replace("`", "``") + "`"

    @property
    def data_type(self) -> str:
        return self.dtype

    def is_string(self) -> bool:
        return self.dtype.lower() == "string"

    def is_integer(self) -> bool:
        return self.dtype.lower() in ("tinyint", "smallint", "int", "bigint")

    def is_numeric(self) -> bool:
        return self.dtype.lower().startswith("decimal")

    def can_expand_to(self, other_column: Column) -> bool:
        return False  # strings have no size

    def literal(self, value: Any) -> str:
        return f"cast({value} as {self.dtype})"

    @classmethod
    def string_type(cls, size: int) -> str:
        return "string"

    @classmethod
    def numeric_type(cls, dtype: str, precision: Any, scale: Any) -> str:
        return "decimal(38,18)" if precision is None else f"decimal({precision},{scale})"
