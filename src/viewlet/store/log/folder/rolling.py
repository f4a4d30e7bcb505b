"""Beginning a new log segment with the full state and the inline runs worth carrying out of old segments.

A segment with little live data is kept for that little. Carrying it over bounds the log to 1 / live_share times its
live data (the cleaning of a log-structured file system).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from viewlet.store.files import LOG
from viewlet.store.limits import Limits
from viewlet.store.log.commit_log import LogAppender
from viewlet.store.log.record_json import encode_state
from viewlet.store.log.state import State, place_ref, relocate
from viewlet.store.runs.runs import Handles, RunRef
from viewlet.store.storage.storage import Storage


def roll(log: LogAppender, state: State, handles: Handles, limits: Limits) -> State:
    """Begin a new segment; returns the state with its carried runs at their new places."""
    storage = handles.storage
    moves, blobs = carry(storage, _to_carry(storage, state, limits))
    header = encode_state(relocate(state, moves, Handles(storage)))
    blob = log.follow(header, blobs)
    return relocate(state, {ref: place_ref(moved, log.name, blob) for ref, moved in moves.items()}, handles)


def carry(storage: Storage, runs: Iterable[list[RunRef]]) -> tuple[dict[RunRef, RunRef], list[Any]]:
    """Places for inline runs in a new blob, and that blob. The runs of each list share their bytes."""
    moves: dict[RunRef, RunRef] = {}
    blobs: list[Any] = []
    used = 0
    for first, *others in runs:
        moves |= {ref: ref.at("", used) for ref in (first, *others)}
        blobs.append(storage.read(first.file, first.offset, first.size, first.crc))
        used += first.size
    return moves, blobs


def inline_runs(state: State) -> dict[str, dict[int, list[RunRef]]]:
    """The runs stored in the log, by file and offset."""
    alive: dict[str, dict[int, list[RunRef]]] = defaultdict(lambda: defaultdict(list))
    for ref in dict.fromkeys(state.refs()):
        if ref.file.startswith(f"{LOG}/"):
            alive[ref.file][ref.offset].append(ref)
    return alive


def _to_carry(storage: Storage, state: State, limits: Limits) -> list[list[RunRef]]:
    """The inline runs of segments with too little live data."""
    carried, sizes = [], storage.list(LOG)
    for file, runs in inline_runs(state).items():
        if sum(refs[0].size for refs in runs.values()) < limits.live_share * sizes[file].size:
            carried += [runs[offset] for offset in sorted(runs)]
    return carried
