"""The states of a `StatefulProcessor`: values, lists, maps and timers by key, with their expiry times."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from viewlet.errors import FlowError, kind_of, shortened

Key = tuple[Any, ...]
Value = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TimerValues:
    """The processing time and the watermark, with the interface of Spark's class of that name."""

    processing: int
    watermark: int

    def getCurrentProcessingTimeInMs(self) -> int:
        return self.processing

    def getCurrentWatermarkInMs(self) -> int:
        return self.watermark


@dataclass(frozen=True, slots=True)
class TimerInfo:
    """A timer that has expired."""

    at: int

    def getExpiryTimeInMs(self) -> int:
        return self.at


@dataclass(frozen=True, slots=True)
class Expiring:
    """A value and its expiry time."""

    value: Value
    expires: int | None


@dataclass(slots=True)
class Variables:
    """The variables and timers of one key."""

    values: dict[str, Expiring] = field(default_factory=dict)
    lists: dict[str, list[Expiring]] = field(default_factory=dict)
    maps: dict[str, dict[Value, Expiring]] = field(default_factory=dict)
    timers: set[int] = field(default_factory=set)


@dataclass
class States:
    """The variables of all keys of a run, and its time."""

    now: int
    watermark: int = 0
    keys: dict[Key, Variables] = field(default_factory=dict)

    @staticmethod
    def read(names: Sequence[Key], rows: Iterable[dict[str, Any]], now: int) -> States:
        """Decode the states of a run from rows of its table, without those that have expired."""
        states = States(now)
        ordered = sorted(rows, key=lambda row: (row["variable"] or "", row["position"] or 0))
        for row in ordered:
            if row["kind"] == "watermark":
                states.watermark = row["expires_ms"]
            elif row["kind"] == "timer" or row["expires_ms"] is None or row["expires_ms"] > now:
                _put(states.of(names[row["_group"]]), row)
        return states

    def of(self, key: Key) -> Variables:
        return self.keys.setdefault(key, Variables())

    def timers(self) -> list[tuple[int, Key]]:
        return [(at, key) for key, found in self.keys.items() for at in found.timers]

    def rows(self, key_names: Sequence[str]) -> list[dict[str, Any]]:
        """Encode all states as rows of the table."""
        found = [
            {**dict(zip(key_names, key, strict=True)), **row} for key, has in self.keys.items() for row in _rows_of(has)
        ]
        if self.watermark:
            found.append({**dict.fromkeys(key_names), **_row("watermark", None, expires=self.watermark)})
        return found


def _put(has: Variables, row: dict[str, Any]) -> None:
    name = row["variable"]
    match row["kind"]:
        case "timer":
            has.timers.add(row["expires_ms"])
        case "value":
            has.values[name] = Expiring(_decoded(row["value"]), row["expires_ms"])
        case "list":
            has.lists.setdefault(name, []).append(Expiring(_decoded(row["value"]), row["expires_ms"]))
        case "map":
            entry = Expiring(_decoded(row["value"]), row["expires_ms"])
            has.maps.setdefault(name, {})[_decoded(row["item"])] = entry


def _rows_of(has: Variables) -> Iterator[dict[str, Any]]:
    for name, held in has.values.items():
        yield _row("value", name, value=held)
    for name, items in has.lists.items():
        yield from (_row("list", name, position=at, value=held) for at, held in enumerate(items))
    for name, entries in has.maps.items():
        yield from (_row("map", name, item=_encoded(item), value=held) for item, held in entries.items())
    yield from (_row("timer", None, expires=at) for at in sorted(has.timers))


def _row(
    kind: str,
    variable: str | None,
    *,
    position: int | None = None,
    item: str | None = None,
    value: Expiring | None = None,
    expires: int | None = None,
) -> dict[str, Any]:
    return {
        "kind": kind,
        "variable": variable,
        "position": position,
        "item": item,
        "value": None if value is None else _encoded(value.value),
        "expires_ms": expires if value is None else value.expires,
    }


def _encoded(value: Value) -> str:
    return json.dumps(list(value), default=_tagged, ensure_ascii=False)


def _tagged(value: Any) -> Any:
    """A value that JSON cannot represent, as an object tagged with its type."""
    match value:
        case Decimal():
            return {"$decimal": str(value)}
        case dt.datetime():
            return {"$timestamp": value.isoformat()}
        case dt.date():
            return {"$date": value.isoformat()}
        case bytes() | bytearray():
            return {"$binary": base64.b64encode(value).decode()}
    raise FlowError(
        f"a state cannot hold {shortened(value)}, {kind_of(value)}",
        hint="numbers, texts, binary, decimals, dates, times, and lists and dicts of them",
    )


def _decoded(text: str) -> Value:
    return tuple(json.loads(text, object_hook=_untagged))


def _untagged(found: dict[str, Any]) -> Any:
    match found:
        case {"$decimal": str(text)}:
            return Decimal(text)
        case {"$timestamp": str(text)}:
            return dt.datetime.fromisoformat(text)
        case {"$date": str(text)}:
            return dt.date.fromisoformat(text)
        case {"$binary": str(text)}:
            return base64.b64decode(text)
    return found


class Handle:
    """The handle from which a processor gets its states, those of the key being processed."""

    def __init__(self, states: States) -> None:
        self.states = states
        self.key: Key = ()

    @property
    def here(self) -> Variables:
        return self.states.of(self.key)

    def getValueState(self, stateName: str, schema: Any = None, ttlDurationMs: int | None = None) -> ValueState:
        return ValueState(self, stateName, ttlDurationMs)

    def getListState(self, stateName: str, schema: Any = None, ttlDurationMs: int | None = None) -> ListState:
        return ListState(self, stateName, ttlDurationMs)

    def getMapState(
        self, stateName: str, userKeySchema: Any = None, valueSchema: Any = None, ttlDurationMs: int | None = None
    ) -> MapState:
        return MapState(self, stateName, ttlDurationMs)

    def registerTimer(self, expiryTimestampMs: int) -> None:
        self.here.timers.add(int(expiryTimestampMs))

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        self.here.timers.discard(int(expiryTimestampMs))

    def listTimers(self) -> Iterator[int]:
        return iter(sorted(self.here.timers))

    def deleteIfExists(self, stateName: str) -> None:
        """Remove a variable from every key of the run."""
        for has in self.states.keys.values():
            for kind in (has.values, has.lists, has.maps):
                kind.pop(stateName, None)


@dataclass(frozen=True, slots=True)
class _Variable:
    handle: Handle
    name: str
    ttl: int | None

    def held(self, value: Iterable[Any]) -> Expiring:
        return Expiring(tuple(value), None if not self.ttl else self.handle.states.now + self.ttl)


class ValueState(_Variable):
    """One value of each key."""

    __slots__ = ()

    def exists(self) -> bool:
        return self.name in self.handle.here.values

    def get(self) -> Value | None:
        held = self.handle.here.values.get(self.name)
        return None if held is None else held.value

    def update(self, newValue: Iterable[Any]) -> None:
        self.handle.here.values[self.name] = self.held(newValue)

    def clear(self) -> None:
        self.handle.here.values.pop(self.name, None)


class ListState(_Variable):
    """A list of each key."""

    __slots__ = ()

    def exists(self) -> bool:
        return bool(self.handle.here.lists.get(self.name))

    def get(self) -> Iterator[Value]:
        return iter([held.value for held in self.handle.here.lists.get(self.name, [])])

    def put(self, newState: Iterable[Iterable[Any]]) -> None:
        self.handle.here.lists[self.name] = [self.held(value) for value in newState]

    def appendValue(self, newState: Iterable[Any]) -> None:
        self.handle.here.lists.setdefault(self.name, []).append(self.held(newState))

    def appendList(self, newState: Iterable[Iterable[Any]]) -> None:
        self.handle.here.lists.setdefault(self.name, []).extend(self.held(value) for value in newState)

    def clear(self) -> None:
        self.handle.here.lists.pop(self.name, None)


class MapState(_Variable):
    """A map of each key."""

    __slots__ = ()

    @property
    def _entries(self) -> dict[Value, Expiring]:
        return self.handle.here.maps.setdefault(self.name, {})

    def exists(self) -> bool:
        return bool(self._entries)

    def getValue(self, key: Iterable[Any]) -> Value | None:
        held = self._entries.get(tuple(key))
        return None if held is None else held.value

    def containsKey(self, key: Iterable[Any]) -> bool:
        return tuple(key) in self._entries

    def updateValue(self, key: Iterable[Any], value: Iterable[Any]) -> None:
        self._entries[tuple(key)] = self.held(value)

    def iterator(self) -> Iterator[tuple[Value, Value]]:
        return iter([(key, held.value) for key, held in self._entries.items()])

    def keys(self) -> Iterator[Value]:
        return iter(list(self._entries))

    def values(self) -> Iterator[Value]:
        return iter([held.value for held in self._entries.values()])

    def removeKey(self, key: Iterable[Any]) -> None:
        self._entries.pop(tuple(key), None)

    def clear(self) -> None:
        self._entries.clear()
