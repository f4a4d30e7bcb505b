"""Records as JSON: changes and full states. A run in the record's own blob has no file name yet."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from viewlet.store.limits import Limits
from viewlet.store.log.folder.segments import Reading
from viewlet.store.log.state import Bag, Change, Entry, Feed, Record, State, apply, place_ref
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.runs import Handles, Run, RunRef, Types

Json = dict[str, Any]


def encode_change(change: Change) -> Json:
    """A change, without its empty parts."""
    document = {
        "epoch": change.epoch,
        "time": change.time,
        "record": change.record,
        "drop": change.drop,
        "resume": change.resume,
        "create": {name: _encode_shape(layout, types) for name, (layout, types) in change.create.items()},
        "gone": {name: [list(place) for place in places] for name, places in change.gone.items()},
        "add": {name: [ref.to_json() for ref in refs] for name, refs in change.add.items()},
        "feed": {
            name: [_encode_fed(ref, change.add.get(name, ())) for ref in refs] for name, refs in change.feed.items()
        },
        "put": change.put,
        "remove": change.remove,
    }
    return {"change": {key: value for key, value in document.items() if value}}


def _encode_fed(ref: RunRef, added: Sequence[RunRef]) -> Any:
    """A run of a feed: usually also added to its bag, and then only its index there."""
    return added.index(ref) if ref in added else ref.to_json()


def decode_change(header: Json, segment: str, blob: int) -> Change:
    """The change in a record, with its inline runs at their places."""
    document = dict(header["change"])
    document["create"] = {name: _decode_shape(shape) for name, shape in document.get("create", {}).items()}
    document["gone"] = {name: [(f, o) for f, o in places] for name, places in document.get("gone", {}).items()}
    add = {name: [RunRef.from_json(ref) for ref in refs] for name, refs in document.get("add", {}).items()}
    feed = {
        name: [add[name][ref] if isinstance(ref, int) else RunRef.from_json(ref) for ref in refs]
        for name, refs in document.get("feed", {}).items()
    }
    document |= {"add": add, "feed": feed}
    return Change(**document).placed(segment, blob)


def encode_state(state: State) -> Json:
    return {
        "state": {
            "epoch": state.epoch,
            "time": state.time,
            "catalog": state.catalog,
            "history": [[record.epoch, record.time, record.text] for record in state.history],
            "dropped": state.dropped,
            "bags": {name: _encode_bag(bag) for name, bag in state.bags.items()},
        }
    }


def decode_state(header: Json, segment: str, blob: int, handles: Handles) -> State:
    document = dict(header["state"])
    document["history"] = tuple(Record(*record) for record in document["history"])
    bags = {name: _decode_bag(bag, segment, blob, handles) for name, bag in document["bags"].items()}
    return State(**{**document, "bags": bags})


def replay(state: State, reading: Reading, handles: Handles, limits: Limits) -> State:
    """The state after the records that were read."""
    for file, frame in reading.frames:
        if "state" in frame.header:
            state = decode_state(frame.header, file, frame.blob, handles)
        elif "change" in frame.header:
            state = apply(state, decode_change(frame.header, file, frame.blob), handles, limits.history_epochs)
    return state


def _encode_bag(bag: Bag) -> Json:
    entries = [[entry.epoch, entry.time, [ref.to_json() for ref in entry.refs]] for entry in bag.feed.entries]
    runs = [run.ref.to_json() for run in bag.runs]
    return {**_encode_shape(bag.layout, bag.types), "runs": runs, "floor": bag.feed.floor, "feed": entries}


def _decode_bag(document: Json, segment: str, blob: int, handles: Handles) -> Bag:
    def placed(refs: list[list[Any]]) -> list[RunRef]:
        return [place_ref(RunRef.from_json(ref), segment, blob) for ref in refs]

    layout, types = _decode_shape(document)
    runs: list[Run] = [handles.get(ref, layout, types) for ref in placed(document["runs"])]
    entries = tuple(Entry(epoch, time, tuple(placed(refs))) for epoch, time, refs in document["feed"])
    return Bag(layout, types, tuple(runs), Feed(document["floor"], entries, sum(entry.bytes for entry in entries)))


def _encode_shape(layout: Layout, types: Types) -> Json:
    schema = pa.schema(list(types.items())).serialize()
    return {"layout": layout.to_json(), "types": base64.b64encode(schema).decode()}


def _decode_shape(document: Mapping[str, Any]) -> tuple[Layout, Types]:
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(document["types"])))
    return Layout.from_json(document["layout"]), {field.name: field.type for field in schema}
