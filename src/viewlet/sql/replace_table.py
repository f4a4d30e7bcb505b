"""CREATE OR REPLACE TABLE … AS: if only rows differ, only the difference is applied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from viewlet.plan.types import Field
from viewlet.sql.execute_dml import overwrite
from viewlet.sql.execute_show import of_kind
from viewlet.sql.schema import read_schema
from viewlet.sql.statements import CreateTable
from viewlet.warehouse.declare.expectations import Constraint
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.declare.watermarks import read_watermark

if TYPE_CHECKING:
    from viewlet.database import Database


def replace_rows(db: Database, s: CreateTable, fields: tuple[Field, ...], rows: Any) -> bool:
    """Put a query's rows into the table that a statement replaces; if it is declared otherwise, drop it instead.

    Whether the table is there.
    """
    table = of_kind(db, "table", s.name)
    assert isinstance(table, Table)
    if not _is_declared(table, s, fields):
        db.drop(table.name)
        return False
    overwrite(db, table.name, rows)
    return True


def _is_declared(table: Table, s: CreateTable, fields: tuple[Field, ...]) -> bool:
    """Whether a table is what a statement declares; no row can be taken from one that is append-only or fed."""
    new = read_schema(s.name, fields, s.primary_key, dict(s.defaults), dict(s.constraints))
    there = (table.fields, table.primary_key, table.defaults, _texts(table.constraints))
    declared = (new.fields, new.primary_key, new.defaults, _texts(new.constraints))
    watermark = read_watermark(s.name, new.fields, s.watermark)
    options = (s.append_only, s.trusted, s.static, watermark, None)
    known = (False, table.trusted, table.static, table.watermark, table.source)
    return there == declared and options == known and not table.append_only


def _texts(constraints: Iterable[Constraint]) -> list[tuple[str, str, str]]:
    return [(c.name, c.text, c.action) for c in constraints]
