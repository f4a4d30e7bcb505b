"""Beginning a new log segment: the whole state, and the inline runs worth carrying out of old segments.

A segment of which little is alive would stay for that little; carrying it over keeps the log at most
1 / live_share times what is alive in it (the cleaning of a log-structured file system).
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from viewlet.store.files import LOG, size_of
from viewlet.store.layout import Layout
from viewlet.store.limits import Limits
from viewlet.store.log import LogWriter
from viewlet.store.records import encode_state
from viewlet.store.runs import Handles, Run, RunRef
from viewlet.store.state import State, place_ref, relocate

_NO_LAYOUT = Layout((), ())


def roll(log: LogWriter, state: State, handles: Handles, limits: Limits) -> State:
    """Begin a new segment; the state with its carried runs where they are now."""
    carried = _to_carry(log.root, state, limits)
    moves: dict[RunRef, RunRef] = {}
    blobs: list[Any] = []
    used = 0
    for ref in carried:
        moves[ref] = ref.at("", used)
        blobs.append(Run(log.root, ref, _NO_LAYOUT).data())
        used += ref.size
    header = encode_state(relocate(state, moves, Handles(log.root)))
    blob = log.follow(header, blobs)
    return relocate(state, {ref: place_ref(moved, log.name, blob) for ref, moved in moves.items()}, handles)


def _to_carry(root: Path, state: State, limits: Limits) -> list[RunRef]:
    """The inline runs of segments of which too little is alive."""
    alive: dict[str, set[RunRef]] = defaultdict(set)
    for ref in state.refs():
        if ref.file.startswith(f"{LOG}/"):
            alive[ref.file].add(ref)
    carried = []
    for file, refs in alive.items():
        if sum(ref.size for ref in refs) < limits.live_share * size_of(root / file):
            carried += sorted(refs, key=lambda ref: ref.offset)
    return carried
