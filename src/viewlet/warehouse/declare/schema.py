"""The declared schema of a table and its validation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from viewlet.columns.kernels.collate import folding
from viewlet.errors import SqlError
from viewlet.formatting import suggestion
from viewlet.plan.types import MONTHS, Field, Type
from viewlet.warehouse.declare.expectations import Constraint


@dataclass(frozen=True, slots=True)
class Schema:
    """The declared columns, primary key, defaults and constraints of a table."""

    fields: tuple[Field, ...]
    primary_key: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    constraints: tuple[Constraint, ...] = ()


def checked_schema(table: str, declared: Schema) -> Schema:
    """Validate a schema; names get the spelling of the columns, and key columns become NOT NULL."""
    _refuse_names(table, declared.fields)
    key = _spelled(table, declared.fields, declared.primary_key, "primary key")
    defaults = _spelled(table, declared.fields, (name for name, _ in declared.defaults), "default")
    for f in declared.fields:
        _refuse_type(table, f, is_key=f.name in key)
    return replace(
        declared,
        fields=tuple(replace(f, nullable=f.nullable and f.name not in key) for f in declared.fields),
        primary_key=key,
        defaults=tuple(zip(defaults, (text for _, text in declared.defaults), strict=True)),
    )


def _refuse_names(table: str, fields: tuple[Field, ...]) -> None:
    names = [f.name for f in fields]
    if not names:
        raise SqlError(f"table {table} has no columns")
    if len({n.lower() for n in names}) < len(names):
        raise SqlError(f"table {table} names a column twice: {', '.join(names)}")
    if not all(names):
        raise SqlError(f"table {table} has a column without a name")


def _refuse_type(table: str, f: Field, *, is_key: bool) -> None:
    if is_key and not _can_be_key(f.type):
        hint = "a key is compared without Spark, by UTF8_BINARY or UTF8_LCASE" if f.type.name == "collated" else None
        raise SqlError(f"table {table}: {f.name} is {f.type} and cannot be a primary key", hint=hint)
    if f.type.name not in MONTHS and f.type.holds(*MONTHS):
        raise SqlError(
            f"table {table}: {f.name} is {f.type}, and intervals of months cannot be nested",
            hint="give them columns of their own, or keep numbers of months",
        )


def _can_be_key(kind: Type) -> bool:
    return folding(kind.args[0]) is not None if kind.name == "collated" else not kind.is_nested


def _spelled(table: str, fields: tuple[Field, ...], given: Iterable[str], what: str) -> tuple[str, ...]:
    """Names in the spelling of the columns; lookup ignores case."""
    names = {f.name.lower(): f.name for f in fields}
    found = tuple(given)
    if unknown := [name for name in found if name.lower() not in names]:
        raise SqlError(
            f"table {table}: the {what} names {unknown[0]}, which is not a column",
            hint=suggestion(unknown[0], names.values()),
        )
    return tuple(names[name.lower()] for name in found)
