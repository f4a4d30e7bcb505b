"""Beginning a new log segment: the whole state, and the inline runs worth carrying out of old segments.

A segment of which little is alive would stay for that little; carrying it over keeps the log at most
1 / live_share times what is alive in it (the cleaning of a log-structured file system).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from viewlet.store.files import LOG, size_of
from viewlet.store.limits import Limits
from viewlet.store.log.log_writer import LogWriter
from viewlet.store.log.records import encode_state
from viewlet.store.log.state import State, place_ref, relocate
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.runs import Handles, Run, RunRef

_NO_LAYOUT = Layout((), ())


def roll(log: LogWriter, state: State, handles: Handles, limits: Limits) -> State:
    """Begin a new segment; the state with its carried runs where they are now."""
    moves: dict[RunRef, RunRef] = {}
    blobs: list[Any] = []
    used = 0
    for refs in _to_carry(log.root, state, limits):
        moves |= {ref: ref.at("", used) for ref in refs}
        blobs.append(Run(log.root, refs[0], _NO_LAYOUT).data())
        used += refs[0].size
    header = encode_state(relocate(state, moves, Handles(log.root)))
    blob = log.follow(header, blobs)
    return relocate(state, {ref: place_ref(moved, log.name, blob) for ref, moved in moves.items()}, handles)


def _to_carry(root: Path, state: State, limits: Limits) -> list[list[RunRef]]:
    """The inline runs of segments of which too little is alive, those together that share their bytes."""
    alive: dict[str, dict[int, list[RunRef]]] = defaultdict(lambda: defaultdict(list))
    for ref in dict.fromkeys(state.refs()):
        if ref.file.startswith(f"{LOG}/"):
            alive[ref.file][ref.offset].append(ref)
    carried = []
    for file, runs in alive.items():
        if sum(refs[0].size for refs in runs.values()) < limits.live_share * size_of(root / file):
            carried += [runs[offset] for offset in sorted(runs)]
    return carried
