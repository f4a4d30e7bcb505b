"""The formats of messages: plain JSON rows, or Debezium's change events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from viewlet.errors import SqlError
from viewlet.source.events.debezium import BadEvent, Events
from viewlet.source.events.json_values import Times, from_json, parse_json
from viewlet.source.net_changes import NetChanges, Place
from viewlet.warehouse.declare.tables import Table

EventFormat = Literal["json", "debezium"]
Take = Callable[[NetChanges, "str | bytes | None", "str | bytes | None", Place], None]
"""Adds a message, given its value and its key."""


def read_format(given: str, times: str) -> tuple[EventFormat, Times]:
    """Validate the format of events."""
    format: EventFormat | None = next((f for f in get_args(EventFormat) if f == given.lower()), None)
    if format is None:
        raise SqlError(f"{given} is not a format of events", hint=" or ".join(get_args(EventFormat)))
    found: Times | None = next((t for t in get_args(Times) if t == times.lower()), None)
    if found is None:
        raise SqlError(f"{times!r} is not a unit of time", hint="seconds, millis or micros")
    return format, found


def event_taker(table: Table, format: EventFormat, times: Times) -> Take:
    """A function that adds messages to the changes of a table; those it cannot read become bad records."""
    take = _debezium(table, times) if format == "debezium" else _rows(table, times)

    def taken(net: NetChanges, value: str | bytes | None, key: str | bytes | None, place: Place) -> None:
        try:
            take(net, value, key, place)
        except BadEvent as error:
            net.bad.append(place.bad(str(error)))

    return taken


def _parsed(text: str | bytes | None) -> Any:
    if text is None:
        return None
    try:
        return parse_json(text)
    except ValueError as error:
        raise BadEvent(f"not JSON: {error}") from None


def _debezium(table: Table, times: Times) -> Take:
    events = Events(table, times or "micros")

    def take(net: NetChanges, value: str | bytes | None, key: str | bytes | None, place: Place) -> None:
        events.take(net, _parsed(value), _parsed(key), place)

    return take


def _rows(table: Table, times: Times) -> Take:
    """A value is a row. With a primary key it replaces the row with its key, and a missing value deletes that row."""
    readers = [(f.name, from_json(f.type, times)) for f in table.fields]

    def row(given: Any) -> list[Any]:
        if not isinstance(given, Mapping):
            raise BadEvent("not a JSON object")
        return [None if (v := given.get(name)) is None else read(v) for name, read in readers]

    def take(net: NetChanges, value: str | bytes | None, key: str | bytes | None, place: Place) -> None:
        net.records += 1
        if value is not None:
            net.put(row(_parsed(value)), place)
        elif not table.primary_key or table.append_only:
            raise BadEvent("a message without a value, which says nothing to a table without a primary key")
        else:
            found = _parsed(key)
            net.take(row(found if isinstance(found, Mapping) else {table.primary_key[0]: found}), place)

    return take
