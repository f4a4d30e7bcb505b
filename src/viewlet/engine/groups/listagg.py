"""listagg: the strings of a group, concatenated in the order that the call specifies."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import valid_mask
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.order import sort, term_keys, why_not_order
from viewlet.engine.groups.grouping import Groups, lists_of, repeated, taken
from viewlet.plan.expr import Literal, Reduce, columns_of


def refuse_listagg(call: Reduce) -> str | None:
    """Why only Spark can evaluate it: constant texts, no order, or DISTINCT with an order other than the texts' own."""
    value, delimiter, *keys = call.args
    if not isinstance(delimiter, Literal) or not keys or not all(map(columns_of, (value, *keys))):
        return "listagg of constants, or without an order, is evaluated by Spark alone"
    if call.distinct and any(key != value for key in keys):
        return "listagg of DISTINCT texts in another order than their own is evaluated by Spark alone"
    return next((why for key in keys if (why := why_not_order(key.type))), None)


def build_listagg(call: Reduce) -> Callable[[Sequence[pa.Array], Groups], pa.Array]:
    """NULL texts are skipped; a NULL delimiter is empty."""
    kind, delimiter = arrow_type(call.type), call.args[1]
    assert isinstance(delimiter, Literal)
    between = pa.scalar(delimiter.value or "", type=kind)
    terms = [
        (way == "desc", place == "first") for way, place in re.findall(r"(asc|desc) nulls (first|last)", call.function)
    ]

    def reduce(args: Sequence[pa.Array], groups: Groups) -> pa.Array:
        present = np.flatnonzero(valid_mask(args[0]))
        (texts, *keys), kept = repeated(*taken(args, groups, present))
        order = [k for key, (down, first) in zip(keys, terms, strict=True) for k in term_keys(key, down, first)]
        lists = lists_of(texts, kept, sort([kept.of, *order], len(kept)), pa.list_(kind))
        joined = pc.binary_join(lists, between)
        return pc.if_else(pa.array(kept.sizes() > 0), joined, pa.scalar(None, type=kind))

    return reduce
