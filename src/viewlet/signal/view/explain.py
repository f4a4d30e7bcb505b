"""`explain` of a signal: its operators, the reach of a change in each, the state, and the cost of epochs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from viewlet.columns.arrays import values_of
from viewlet.formatting import duration, plural, size
from viewlet.signal.change.reach import is_bounded
from viewlet.signal.operators.scans import settling, spacing, state_size
from viewlet.signal.plan.durations import Clock
from viewlet.signal.plan.kinds import length_laid_out
from viewlet.signal.plan.nodes import Feedback, Fir, Iir, Node, OverlapAdd, Running, Sample, Scan, Source, Windows
from viewlet.signal.plan.show import lines
from viewlet.store import Snapshot

if TYPE_CHECKING:
    from viewlet.signal.view.maintained import SignalView
    from viewlet.warehouse.warehouse import Warehouse

_WIDTH = 76


def explain(view: SignalView, warehouse: Warehouse, *, verbose: bool = False) -> str:
    """Operators with the state of each, bags with their sizes, and the cost of refreshes."""
    snapshot = warehouse.store.snapshot()
    columns = ", ".join(f.name for f in view.fields)
    head = _padded(f"signal {view.name} → {columns}", plural(snapshot.contents(view.name).total(), "row"))
    clock: Clock = next(iter(view.schema.readings)).clock
    checkpoints = _checkpoints(view, snapshot)
    found = [head]
    for depth, text, node in lines(view.node, clock):
        kept = _kept_of(view, node, snapshot) if isinstance(node, Source) else _state(node, view.tolerance, checkpoints)
        found.append(_padded("  " * (depth + 1) + text, kept))
    found.append("state")
    for bag in view.bags[1:]:
        contents = snapshot.contents(bag)
        found.append(_padded(f"  {bag}", f"{plural(contents.rows, 'row')}  {size(contents.bytes)}"))
    return "\n".join([*found, *_kept(view), *_costs(warehouse.history(view.name), view.name)])


def _padded(left: str, right: str) -> str:
    return f"{left:<{_WIDTH}}  {right}".rstrip()


def _checkpoints(view: SignalView, snapshot: Snapshot) -> Mapping[Scan, int]:
    """The number of checkpoints of each operator that has some."""
    scans = view.schema.scans
    rows = snapshot.contents(view.schema.checkpoints).consolidated() if scans else None
    if not rows:
        return dict.fromkeys(scans, 0)
    numbers = values_of(rows[view.schema.state_names[0]], "i4")
    return dict(zip(scans, np.bincount(numbers, minlength=len(scans)).tolist(), strict=True))


def _kept_of(view: SignalView, source: Source, snapshot: Snapshot) -> str:
    contents = snapshot.contents(view.schema.readings_of(source))
    return f"keeps {plural(contents.total(), 'reading')}, {size(contents.bytes)}"


def _state(node: Node, tolerance: float, checkpoints: Mapping[Scan, int]) -> str:
    """What an operator reads around a changed sample, or the state that it keeps."""
    match node:
        case Sample(policy=policy) if policy.kind != "none":
            return f"reads {policy.before} before and {policy.after} after"
        case Fir(taps=taps, ahead=ahead):
            return f"reads {len(taps) - 1 - ahead} before and {ahead} after"
        case Windows(size=samples):
            return f"reads {samples - 1} before"
        case Running(size=samples, renewal=renewal):
            kept = f"keeps {plural(state_size(node), 'number')} of a group ({plural(checkpoints[node], 'checkpoint')})"
            return f"{kept} and reads {samples - 1} before; computed from scratch every {renewal:,} windows"
        case OverlapAdd():
            return f"reads {length_laid_out(node) - 1} after"
        case Iir() | Feedback():
            kept = f"keeps {plural(state_size(node), 'number')} every {spacing(node):,} samples of a group"
            return f"{kept} ({plural(checkpoints[node], 'checkpoint')}); a change {_fading(node, tolerance)}"
        case _:
            return ""


def _fading(node: Iir | Feedback, tolerance: float) -> str:
    settled = settling(node.sections, tolerance) if isinstance(node, Iir) else None
    return "is felt to the end" if settled is None else f"fades within {settled:,}"


def _kept(view: SignalView) -> Iterator[str]:
    yield f"changes below {view.tolerance:g} of a sample count as none"
    if view.closing is not None:
        yield f"readings and checkpoints that the watermark of {view.closing} has passed are let go"
    elif not is_bounded(view.node):
        yield "all readings stay: an interpolation without max_gap, of what is computed, may ask for any"
    else:
        yield "all readings stay: there is no watermark by their time"


def _costs(records: list[dict[str, object]], name: str) -> Iterator[str]:
    """The cost of epochs, from their records."""
    runs = [r["views"][name] for r in records if name in r.get("views", {})]  # type: ignore[index, operator]
    epochs = [run for run in runs if "read" in run]
    if epochs:
        last = epochs[-1]
        yield (
            f"last epoch: {plural(last['groups'], 'group')}, {plural(last['read'], 'reading')} read, "
            f"{last['inserted']:,} in and {last['deleted']:,} out, {duration(last['ms'])}"
        )
        yield f"an epoch costs {duration(statistics.median(run['ms'] for run in epochs))} (median of {len(epochs)})"
    if filled := [run for run in runs if "read" not in run and "groups" in run]:
        yield f"computing it from scratch took {duration(filled[0]['ms'])}"
