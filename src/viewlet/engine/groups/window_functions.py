"""Window functions over sorted rows: ranks, neighbours, and aggregates over a frame.

A frame is a range of positions for each row. An aggregate over frames uses running sums or extremes where possible;
otherwise it is the reducer of the same name with each frame as a group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, Positions, valid_mask
from viewlet.columns.evaluate import compile_expr
from viewlet.columns.evaluate import why_not as why_not_expr
from viewlet.columns.rows import Rows
from viewlet.engine.groups.grouping import Groups, take_or_null
from viewlet.engine.groups.reducers import collect_in_order, compile_reduce, why_not_reduce
from viewlet.engine.groups.running_frames import compile_running
from viewlet.plan.expr import Expr, Frame, Literal, Over, Reduce

_PAIRS_AT_ONCE = 1 << 20
PICKS = ("first", "first_value", "any_value", "last", "last_value", "nth_value")
"""Functions that pick one row of the frame."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """Rows in window order, with the start and end of each row's partition and of its peers (rows that tie with it)."""

    rows: Rows
    start: Positions
    end: Positions
    peers_start: Positions
    peers_end: Positions

    @staticmethod
    def of(rows: Rows, new_partition: Mask, new_peers: Mask) -> Sorted:
        start, end = _spans(new_partition)
        peers_start, peers_end = _spans(new_peers)
        return Sorted(rows, start, end, peers_start, peers_end)

    @property
    def places(self) -> Positions:
        return np.arange(len(self.rows))


def _spans(begins: Mask) -> tuple[Positions, Positions]:
    """The start and end of each row's span, given where spans begin."""
    first = np.flatnonzero(begins)
    sizes = np.diff(first, append=len(begins))
    return np.repeat(first, sizes), np.repeat(first + sizes, sizes)


def why_not_over(over: Over) -> str | None:
    """Why a window call cannot be evaluated here; None if it can."""
    if why := next((w for e in over.args if (w := why_not_expr(e))), None):
        return why
    if over.where is not None:
        return f"{over.function} with a FILTER over a window is evaluated by Spark alone"
    if over.function in RANKS:
        return None
    if over.function in ("lag", "lead"):
        return _why_not_offset(over)
    if why := _why_not_frame(over.frame):
        return why
    if over.function in PICKS:
        return _why_not_pick(over)
    if over.function == "collect_set" or over.function.startswith("listagg"):
        return f"{over.function} over a window is evaluated by Spark alone"
    return why_not_reduce(_as_reduce(over))


def _why_not_offset(over: Over) -> str | None:
    if over.ignore_nulls:
        return f"{over.function} with IGNORE NULLS is evaluated by Spark alone"
    if over.frame.lower is None or _constant(over.frame.lower) is None:
        return f"{over.function} by a computed offset is evaluated by Spark alone"
    return None


def _why_not_pick(over: Over) -> str | None:
    if over.function == "nth_value" and (over.ignore_nulls or _constant(over.args[1]) is None):
        return "nth_value with IGNORE NULLS or a computed offset is evaluated by Spark alone"
    return None


def _why_not_frame(frame: Frame) -> str | None:
    for bound in (frame.lower, frame.upper):
        if bound is not None and _constant(bound) is None:
            return "a window frame with a computed bound is evaluated by Spark alone"
        if bound is not None and frame.unit == "range" and _constant(bound) != 0:
            return "a window frame over a range of values is evaluated by Spark alone"
    return None


def _constant(expr: Expr) -> int | None:
    match expr:
        case Literal(int(value)):
            return value
        case _:
            return None


def _as_reduce(over: Over) -> Reduce:
    return Reduce(over.function, over.args, over.type)


def depends_on_ties(over: Over) -> bool:
    """Whether the result depends on the order of tied rows."""
    if over.function in ("rank", "dense_rank", "percent_rank", "cume_dist"):
        return False
    if over.function in (
        "row_number",
        "ntile",
        "lag",
        "lead",
        "first",
        "last",
        "nth_value",
        "first_value",
        "last_value",
    ):
        return True
    return over.frame.unit == "rows" and (over.frame.lower is not None or over.frame.upper is not None)


Function = Callable[[Sorted], pa.Array]


def compile_over(over: Over) -> Function:
    """The function from sorted rows to the values of one window call."""
    match over.function:
        case name if name in RANKS:
            return RANKS[name](over)
        case "lag" | "lead":
            return _compile_neighbour(over)
        case name if name in PICKS:
            return _compile_pick(over)
        case _:
            return _compile_aggregate(over)


def _row_number(over: Over) -> Function:
    return lambda s: pa.array((s.places - s.start + 1).astype(np.int32))


def _rank(over: Over) -> Function:
    return lambda s: pa.array((s.peers_start - s.start + 1).astype(np.int32))


def _dense_rank(over: Over) -> Function:
    def dense_rank(s: Sorted) -> pa.Array:
        number = np.cumsum(s.peers_start == s.places)
        return pa.array((number - number[s.start] + 1).astype(np.int32))

    return dense_rank


def _percent_rank(over: Over) -> Function:
    return lambda s: pa.array((s.peers_start - s.start) / np.maximum(s.end - s.start - 1, 1))


def _cume_dist(over: Over) -> Function:
    return lambda s: pa.array((s.peers_end - s.start) / (s.end - s.start))


def _ntile(over: Over) -> Function:
    """Buckets whose sizes differ by at most one, larger ones first."""
    buckets = _constant(over.args[0])
    assert buckets is not None

    def ntile(s: Sorted) -> pa.Array:
        small, larger = np.divmod(s.end - s.start, buckets)
        place, edge = s.places - s.start, larger * (small + 1)
        late = larger + (place - edge) // np.maximum(small, 1)
        return pa.array((np.where(place < edge, place // (small + 1), late) + 1).astype(np.int32))

    return ntile


RANKS: dict[str, Callable[[Over], Function]] = {
    "row_number": _row_number,
    "rank": _rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
    "ntile": _ntile,
}


def _compile_neighbour(over: Over) -> Function:
    """lag, lead: the value of the row at a constant distance in the partition, else the default."""
    step = None if over.frame.lower is None else _constant(over.frame.lower)
    assert step is not None
    value = compile_expr(over.args[0])
    default = compile_expr(over.args[2]) if len(over.args) > 2 else None

    def neighbour(s: Sorted) -> pa.Array:
        to = s.places + step
        inside = (to >= s.start) & (to < s.end)
        values = take_or_null(value(s.rows), np.where(inside, to, -1))
        return values if default is None else _where(inside, values, default(s.rows))

    return neighbour


def _where(chosen: Mask, yes: pa.Array, no: pa.Array) -> pa.Array:
    """`yes` where chosen, else `no`; for any type."""
    if no.null_count == len(no):
        return yes
    at = np.arange(len(yes))
    return pa.concat_arrays([yes, no.cast(yes.type)]).take(pa.array(np.where(chosen, at, at + len(yes))))


def bounds(frame: Frame, s: Sorted) -> tuple[Positions, Positions]:
    """Where each row's frame begins and ends."""
    lower, upper = (None if b is None else _constant(b) for b in (frame.lower, frame.upper))
    by_rows = frame.unit == "rows"
    low = s.start if lower is None else np.maximum(s.places + lower, s.start) if by_rows else s.peers_start
    high = s.end if upper is None else np.minimum(s.places + upper + 1, s.end) if by_rows else s.peers_end
    low = np.minimum(low, s.end)
    return low, np.maximum(high, low)


def _compile_pick(over: Over) -> Function:
    """first, last, nth_value: one value of the frame."""
    value, frame = compile_expr(over.args[0]), over.frame
    back = over.function.startswith("last")
    nth = (_constant(over.args[1]) if over.function == "nth_value" else None) or 1
    ignore_nulls = over.ignore_nulls

    def pick(s: Sorted) -> pa.Array:
        low, high = bounds(frame, s)
        values = value(s.rows)
        if ignore_nulls and values.null_count:
            at = _last_valid(values)[high] if back else _next_valid(values)[low]
        else:
            at = high - 1 if back else low + nth - 1
        return take_or_null(values, np.where((at >= low) & (at < high), at, -1))

    return pick


def _next_valid(values: pa.Array) -> Positions:
    """For each position, the position of the next value that is not NULL."""
    length = len(values)
    at = np.append(np.where(valid_mask(values), np.arange(length), length), length)
    return np.minimum.accumulate(at[::-1])[::-1]


def _last_valid(values: pa.Array) -> Positions:
    """For each frame end, the position of the last value before it that is not NULL."""
    at = np.where(valid_mask(values), np.arange(len(values)), -1)
    return np.maximum.accumulate(np.append(-1, at))


def _compile_aggregate(over: Over) -> Function:
    """An aggregate over the rows of each frame."""
    args, apply = [compile_expr(a) for a in over.args], _compile_frames(over)
    return lambda s: apply([arg(s.rows) for arg in args], *bounds(over.frame, s))


def _compile_frames(over: Over) -> Callable[[list[pa.Array], Positions, Positions], pa.Array]:
    """The aggregate of each range of positions; equal ranges are computed once."""
    call, running = _as_reduce(over), compile_running(over)
    reduce = collect_in_order(call) if over.function == "collect_list" else compile_reduce(call)

    def apply(args: list[pa.Array], low: Positions, high: Positions) -> pa.Array:
        new = np.ones(len(low), dtype=np.bool_)
        new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])  # both only grow, so equal ranges are adjacent
        first, count = np.flatnonzero(new), len(low)
        low, high = low[first], high[first]
        found = _reduce_ranges(reduce, args, low, high - low) if running is None else running(args, low, high)
        return found if len(first) == count else found.take(pa.array(np.cumsum(new) - 1))

    return apply


def _reduce_ranges(
    reduce: Callable[[list[pa.Array], Groups], pa.Array], args: list[pa.Array], low: Positions, sizes: Positions
) -> pa.Array:
    """The reducer with each range as a group, in portions of ranges that fit in memory."""
    parts: list[pa.Array] = []
    begin, total = 0, np.cumsum(sizes)
    while begin < len(low) or not parts:
        reached = int(total[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(total, reached + _PAIRS_AT_ONCE, side="right")))
        counts = sizes[begin:end]
        owner = np.repeat(np.arange(len(counts)), counts)
        at = np.repeat(low[begin:end] - (np.cumsum(counts) - counts), counts) + np.arange(len(owner))
        indices = pa.array(at, type=pa.int64())
        groups = Groups(owner, np.ones(len(owner), dtype=np.int64), len(counts))
        parts.append(reduce([a.take(indices) for a in args], groups))
        begin = end
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
