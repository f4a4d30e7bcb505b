"""Fragments: pieces of Spark's own plan that Spark runs later, on given inputs, possibly in another process.

A fragment is a header (JSON: Spark's version, the positions of the inputs) and Spark's plan serialized by Java, with
empty relations in place of the inputs. It holds no reference to a session or to data. Columns are matched by position;
a fragment's result has the column names of its plan.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from viewlet.errors import StoreError
from viewlet.plan.nodes import Plan, Scan
from viewlet.plan.nodes import children as inputs_of
from viewlet.spark.analyse import Analysis
from viewlet.spark.decode.data_types import decode_type
from viewlet.spark.fragments.python_operators import from_serializable, to_serializable
from viewlet.spark.rewrite.detach_subqueries import attach, detach
from viewlet.spark.rewrite.propagate_column import Propagated, propagate_key, propagate_weight
from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, children, items, rebuild, subplans, walk, walk_plan

MAGIC = b"VLF1"
KEY, WEIGHT = "_key", "_weight"


def make_rowwise(analysis: Analysis, origin: int) -> bytes:
    """The operator at `origin` over its one input, with a last column `_weight` that passes through."""
    jvm, operator = analysis.jvm, analysis.operators[origin]
    (child,) = children(operator)
    rows = _place(jvm, child, WEIGHT)
    carried = propagate_weight(jvm, operator, rows)
    return _fragment(analysis, origin, carried, [rows.plan])


def make_keyed(analysis: Analysis, top: int, cuts: Sequence[int]) -> bytes:
    """The operators from `top` down to the inputs at `cuts`, each with a last column `_key`.

    Rows with different keys never meet: `_key` is added to the grouping, partition and join keys. An aggregate without
    keys of its own returns no row for a key without rows.
    """
    jvm = analysis.jvm
    places = {origin: _place(jvm, analysis.operators[origin], KEY) for origin in cuts}

    def carry(origin: int) -> Propagated:
        if origin in places:
            return places[origin]
        operator = analysis.operators[origin]
        return propagate_key(jvm, operator, [carry(o) for o in _origins(analysis, origin)])

    return _fragment(analysis, top, carry(top), [places[origin].plan for origin in cuts])


def make_whole(analysis: Analysis, top: int, cuts: Sequence[int]) -> bytes:
    """The operators from `top` down to the inputs at `cuts`, unchanged."""
    jvm = analysis.jvm
    places = {origin: _place(jvm, analysis.operators[origin], None) for origin in cuts}

    def build(origin: int) -> Node:
        if origin in places:
            return places[origin].plan
        operator = analysis.operators[origin]
        parts = [build(o) for o in _origins(analysis, origin)]
        return rebuild(jvm, operator, parts) if parts else operator

    plan = Propagated(build(top), tuple(items(analysis.operators[top].output())), None)
    return _fragment(analysis, top, plan, [places[origin].plan for origin in cuts])


def whole_inputs(analysis: Analysis) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The inputs of the complete definition: every occurrence of a table, by origin and by name."""
    found: list[tuple[int, str]] = []

    def visit(plan: Plan) -> None:
        if isinstance(plan, Scan) and plan.origin is not None:
            found.append((plan.origin, plan.name))
        for child in inputs_of(plan):
            visit(child)

    visit(analysis.plan)
    return tuple(o for o, _ in found), tuple(n for _, n in found)


def run(spark: SparkSession, fragment: bytes, inputs: Sequence[DataFrame]) -> DataFrame:
    """The result of a fragment on inputs, given in the order of its cuts; columns by position."""
    known = _PREPARED.setdefault(spark, {})
    if fragment not in known:
        known[fragment] = _prepare(Jvm(spark), fragment)
    ready = known[fragment]
    rows = {p.at: p.fill(ready.jvm, frame) for p, frame in zip(ready.places, inputs, strict=True)}
    filled = _fill(ready.jvm, ready.carrier, rows, count())
    return ready.jvm.frame(attach(ready.jvm, from_serializable(ready.jvm, filled)))


@dataclass(frozen=True)
class _Place:
    """The place of an input: its position in a preorder walk, and the columns that the fragment reads."""

    at: int
    schema: tuple[str, ...]
    columns: tuple[tuple[str, Node], ...]

    def fill(self, jvm: Jvm, frame: DataFrame) -> Node:
        """The input's rows under the ids that the fragment uses; columns added to it since are dropped."""
        plan = plan_of(frame)
        given = items(plan.output())[: len(self.columns)]
        if (schema := _types(plan)[: len(self.columns)]) != self.schema:
            raise AssertionError(f"a fragment reads columns of the types {self.schema}, and is given {schema}")
        return jvm.project([jvm.alias(g, name, i) for g, (name, i) in zip(given, self.columns, strict=True)], plan)


@dataclass(frozen=True)
class _Ready:
    """A fragment as a plan in a session."""

    jvm: Jvm
    carrier: Node
    places: tuple[_Place, ...]


_PREPARED: WeakKeyDictionary[SparkSession, dict[bytes, _Ready]] = WeakKeyDictionary()


def _prepare(jvm: Jvm, fragment: bytes) -> _Ready:
    header, body = _read(fragment)
    if header["spark"] != jvm.spark.version:
        raise StoreError(
            f"a view was compiled by Spark {header['spark']}, and this is Spark {jvm.spark.version}",
            hint="drop the view and create it again",
        )
    carrier = jvm.deserialized(body)
    walked = list(walk(carrier))
    places = []
    for at in header["inputs"]:
        columns = tuple((str(c.name()), c.exprId()) for c in items(walked[at].output()))
        places.append(_Place(at, _types(walked[at]), columns))
    return _Ready(jvm, carrier, tuple(places))


def _types(plan: Node) -> tuple[str, ...]:
    """The types of a plan's columns, ignoring names."""
    columns = json.loads(plan.schema().json())["fields"]
    return tuple(str(decode_type(c["type"])) for c in columns)


def _fill(jvm: Jvm, plan: Node, rows: dict[int, Node], numbers: Iterator[int]) -> Node:
    """A plan with its inputs in place."""
    at = next(numbers)
    if at in rows:
        return rows[at]
    parts = [_fill(jvm, part, rows, numbers) for part in children(plan)]
    return plan.withNewChildren(jvm.seq(parts)) if parts else plan


def _origins(analysis: Analysis, origin: int) -> list[int]:
    """The origins of an operator's children and subquery plans."""
    operator = analysis.operators[origin]
    found, at = [], origin + 1
    for part in (*children(operator), *subplans(operator)):
        found.append(at)
        at += sum(1 for _ in walk_plan(part))
    return found


def _place(jvm: Jvm, plan: Node, extra: str | None) -> Propagated:
    """An empty relation with the columns of a plan, and one more."""
    columns = tuple(items(plan.output()))
    more = None if extra is None else jvm.attribute(extra, jvm.data_type("long"), nullable=False)
    output = jvm.seq(columns if more is None else (*columns, more))
    return Propagated(jvm.logical.LocalRelation(output, jvm.seq([]), False, jvm.none()), columns, more)


def _fragment(analysis: Analysis, top: int, result: Propagated, places: list[Node]) -> bytes:
    """Serialize a plan, its columns named as in the algebra."""
    jvm = analysis.jvm
    names = [f.name for f in analysis.by_origin[top].columns]
    columns = [jvm.alias(c, n) for c, n in zip(result.columns, names, strict=True)]
    extra = [] if result.extra is None else [result.extra]
    plan = jvm.project([*columns, *extra], result.plan)
    carrier = to_serializable(jvm, detach(jvm, plan))
    walked = list(walk(carrier))
    header = {"spark": jvm.spark.version, "inputs": _positions(walked, places)}
    head = json.dumps(header).encode()
    return MAGIC + struct.pack(">I", len(head)) + head + jvm.serialized(carrier)


def _positions(walked: list[Node], places: list[Node]) -> list[int]:
    """The positions of empty relations in a plan; equal ones, as Spark may make them, are in order."""
    found: list[int] = []
    for place in places:
        found.append(next(i for i, node in enumerate(walked) if i not in found and node.fastEquals(place)))
    return found


def _read(fragment: bytes) -> tuple[dict[str, Any], bytes]:
    if fragment[:4] != MAGIC:
        raise StoreError("a view was compiled by another version of Viewlet", hint="drop the view and create it again")
    (length,) = struct.unpack(">I", fragment[4:8])
    return json.loads(fragment[8 : 8 + length]), fragment[8 + length :]
