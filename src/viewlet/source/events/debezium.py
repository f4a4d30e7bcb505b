"""Debezium's change events: the row before, the row after, and the operation.

An event may have an envelope with the schema of its values, which defines the meaning of numbers and strings: days,
milliseconds, the bytes of a decimal. Without it, integers in time columns are microseconds and days.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from viewlet.plan.types import Type
from viewlet.source.events.json_values import Times, days, from_json, moment
from viewlet.source.net_changes import UNCHANGED, NetChanges, Place
from viewlet.warehouse.declare.tables import Table

UNAVAILABLE = "__debezium_unavailable_value"
"""Debezium's placeholder for a long value that an update did not change."""
_UNITS: dict[str, str] = {"Timestamp": "millis", "MicroTimestamp": "micros", "Time": "millis", "MicroTime": "micros"}
"""The units of numbers, by the last part of a type's name, which Kafka Connect and Debezium share."""
_NANOS = ("NanoTimestamp", "NanoTime")


class BadEvent(Exception):
    """A message that is not a change event, with the reason."""


@dataclass
class Events:
    """Converts change events to changes of a table."""

    table: Table
    times: Times = "micros"
    _readers: dict[str, list[Callable[[Any], Any]]] = field(default_factory=dict)

    def take(self, net: NetChanges, value: Any, key: Any, place: Place) -> None:
        """Add an event; `key` is that of the message, if it has one."""
        if value is None:  # a tombstone, which follows a deletion for log compaction
            return
        if not isinstance(value, Mapping):
            raise BadEvent("not a change event: a JSON object with op, before and after")
        schema, payload = value.get("schema"), value.get("payload", value)
        if payload is None:
            return
        op = payload.get("op") if isinstance(payload, Mapping) else None
        before, after = (self._row(payload.get(part), schema, part) for part in ("before", "after"))
        version = self._version(payload)
        net.records += 1
        match op:
            case "c" | "r" | "u":
                net.put(self._after(op, before, after), place, before if op == "u" else None, version)
            case "d":
                net.take(self._deleted(before, key), place, version)
            case "t":
                net.truncate(version)
            case "m":
                net.records -= 1
            case _:
                raise BadEvent("not a change event: `op` is none of c, r, u, d, t, m")

    def _version(self, payload: Mapping[str, Any]) -> int | None:
        """The position of the change in the log of its database, if it has one and the table has a key."""
        source = payload.get("source")
        found = source.get("lsn") if isinstance(source, Mapping) else None
        return found if isinstance(found, int) and self.table.primary_key else None

    def _after(self, op: str, before: list[Any] | None, after: list[Any] | None) -> list[Any]:
        """The new row."""
        if after is None:
            raise BadEvent(f"an event of kind {op} has no `after`")
        if op == "u" and before is None and not self.table.primary_key:
            raise BadEvent("an update has no `before`, which a table without a primary key needs")
        return after

    def _deleted(self, before: list[Any] | None, key: Any) -> list[Any]:
        """The deleted row, or its key."""
        if before is not None:
            return before
        found = self._row(key.get("payload", key), None, "") if isinstance(key, Mapping) else None
        if found is None or not self.table.primary_key:
            raise BadEvent("a deletion has no `before`")
        return found

    def _row(self, given: Any, schema: Any, part: str) -> list[Any] | None:
        """The values of a row; missing columns are NULL."""
        if not isinstance(given, Mapping):
            return None
        known = str(schema) if schema else ""
        if (known + part) not in self._readers:
            self._readers[known + part] = self._columns(schema, part)
        there = given if all(name in given for name in self.table.names) else _by_lower(given, self.table)
        values = (there.get(name) for name in self.table.names)
        return [_value(read, v) for read, v in zip(self._readers[known + part], values, strict=True)]

    def _columns(self, schema: Any, part: str) -> list[Callable[[Any], Any]]:
        """The converter of each column."""
        rows = (schema or {}).get("fields") or ()
        found = next((f.get("fields") or () for f in rows if f.get("field") == part), ())
        types = {str(f.get("field")).lower(): f for f in found}
        return [_reader(f.type, types.get(f.name.lower()), self.times) for f in self.table.fields]


def _by_lower(given: Mapping[str, Any], table: Table) -> dict[str, Any]:
    lower = {name.lower(): value for name, value in given.items()}
    return {name: lower.get(name.lower()) for name in table.names}


def _value(read: Callable[[Any], Any], value: Any) -> Any:
    if value is None:
        return None
    return UNCHANGED if value == UNAVAILABLE else read(value)


def _reader(kind: Type, schema: Mapping[str, Any] | None, times: Times) -> Callable[[Any], Any]:
    """A function that converts an event's value to the Python value of a column."""
    name = ((schema or {}).get("name") or "").rpartition(".")[2]
    if name == "Date":
        return days
    if name in _UNITS:
        return lambda value: moment(value, _UNITS[name], kind)
    if name in _NANOS:
        return lambda value: value if value % 1000 else moment(value // 1000, "micros", kind)
    if name == "Decimal" and schema is not None:
        scale = int(schema["parameters"]["scale"])
        return lambda value: unscaled(value, scale)
    if name == "VariableScaleDecimal":
        return lambda value: unscaled(value["value"], int(value["scale"]))
    return from_json(kind, times)


@lru_cache(maxsize=4096)
def unscaled(text: str, scale: int) -> Decimal:
    """Decode a decimal from two's complement bytes in base 64."""
    return Decimal(f"{int.from_bytes(base64.b64decode(text), 'big', signed=True)}e{-scale}")
