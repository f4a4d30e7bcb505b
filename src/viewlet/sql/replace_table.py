"""CREATE OR REPLACE TABLE … AS: if only the rows differ, just their difference is applied."""

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
    """Replace the rows of an existing table by a query's; if the declaration differs, drop the table instead.

    Returns whether the table exists afterwards.
    """
    table = of_kind(db, "table", s.name)
    assert isinstance(table, Table)
    if not _is_declared(table, s, fields):
        db.drop(table.name)
        return False
    overwrite(db, table.name, rows)
    return True


def _is_declared(table: Table, s: CreateTable, fields: tuple[Field, ...]) -> bool:
    """Whether a table is as declared and allows deletions: it is neither append-only nor fed by a source."""
    new = read_schema(s.name, fields, s.primary_key, dict(s.defaults), dict(s.constraints))
    there = (table.fields, table.primary_key, table.defaults, _texts(table.constraints))
    declared = (new.fields, new.primary_key, new.defaults, _texts(new.constraints))
    watermark = read_watermark(s.name, new.fields, s.watermark)
    options = (s.append_only, s.trusted, s.static, watermark, None)
    known = (False, table.trusted, table.static, table.watermark, table.source)
    return there == declared and options == known and not table.append_only


def _texts(constraints: Iterable[Constraint]) -> list[tuple[str, str, str]]:
    return [(c.name, c.text, c.action) for c in constraints]
