"""Decoding Spark's optimized plan into the algebra, operator by operator.

Every operator becomes one node, and `origin` is its position in a preorder walk of Spark's plan (`jvm.walk_plan`). Each
column gets a name that is unique in the plan where it is created, numbered in order of appearance, inputs first;
operators that pass a column on keep its name. Operators unknown to the algebra become a `SparkOperator`: decoding never
fails on a plan that Spark can run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viewlet.plan import nodes as algebra
from viewlet.plan.expr import Call, Column, Expr, Named
from viewlet.plan.nodes import Plan, Scan, SparkOperator
from viewlet.plan.types import Field
from viewlet.spark.decode.constant_rows import constant_rows
from viewlet.spark.decode.constants import NoPythonValue
from viewlet.spark.decode.data_types import decode_field
from viewlet.spark.decode.expressions import Expressions, rendered
from viewlet.spark.decode.session_windows import in_sessions
from viewlet.spark.decode.tree import Id, Tree, Undecodable, column_id, expression, expressions, parse, refuse_collated
from viewlet.spark.decode.vocabulary import GENERATORS
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, items, subplans
from viewlet.spark.session.leaves import Tables

JOINS = {
    "Inner$": "inner", "Cross$": "inner", "LeftOuter$": "left", "RightOuter$": "right", "FullOuter$": "full",
    "LeftSemi$": "semi", "LeftAnti$": "anti", "ExistenceJoin": "exists",
}  # fmt: skip
CONSTANTS = ("LocalRelation", "OneRowRelation", "Range", "EmptyRelation")
LIMIT_CHAIN = ("GlobalLimit", "LocalLimit", "Offset", "Sort")


@dataclass(frozen=True)
class DecodedOperator:
    """A decoded operator, and Spark's ids of its columns."""

    plan: Plan
    ids: tuple[Id, ...]

    def names(self) -> dict[Id, Column]:
        return {i: Column(f.name, f.type) for i, f in zip(self.ids, self.plan.columns, strict=True)}


@dataclass(frozen=True)
class Operator:
    """One operator of Spark's plan, to be decoded."""

    node: Node
    data: dict[str, Any]
    origin: int
    output: tuple[tuple[Id, Field], ...]

    @property
    def ids(self) -> tuple[Id, ...]:
        return tuple(i for i, _ in self.output)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(f for _, f in self.output)


class Decoder:
    """Decodes one plan; `operators` lists Spark's operators by origin."""

    def __init__(
        self, jvm: Jvm, tables: Tables, *, plain_strings: bool = True, sparks_own: frozenset[str] = frozenset()
    ) -> None:
        self.jvm = jvm
        self.tables = tables
        self.plain_strings = plain_strings
        self.sparks_own = sparks_own
        self.operators: list[Node] = []
        self.taken: set[str] = set()

    def decode(self, plan: Node) -> DecodedOperator:
        """The algebra's plan for one of Spark's."""
        return self._decode(plan, iter(json.loads(plan.toJSON())))

    def _decode(self, node: Node, data: Iterator[dict[str, Any]]) -> DecodedOperator:
        own = next(data)
        operator = Operator(node, own, len(self.operators), output_of(self.jvm, node))
        self.operators.append(node)
        kind = own["class"].rsplit(".", 1)[-1].rstrip("$")
        if kind == "UnionLoop":
            return self._seal_tree(operator, data)
        if kind in LIMIT_CHAIN:
            return self._top(operator, data)
        inputs = [self._decode(child, data) for child in children(node)]
        inner = [self.decode(plan) for plan in subplans(node)]
        return self._operator(kind, operator, inputs, inner)

    def _operator(
        self, kind: str, operator: Operator, inputs: list[DecodedOperator], inner: list[DecodedOperator]
    ) -> DecodedOperator:
        """An operator over decoded inputs; a `SparkOperator` if the algebra cannot express it."""
        if inner:
            return self._seal(
                operator, [*inputs, *inner], "a subquery that may give more than one row is evaluated by Spark alone"
            )
        try:
            return self._known(kind, operator, inputs)
        except Undecodable as reason:
            return self._seal(operator, inputs, str(reason))

    def _known(self, kind: str, operator: Operator, inputs: list[DecodedOperator]) -> DecodedOperator:
        match kind:
            case "LogicalRDD":
                return self._scan(operator)
            case "Filter":
                return self._filter(operator, inputs[0])
            case "Project":
                return self._project(operator, inputs[0])
            case "Join":
                return self._join(operator, *inputs)
            case "Aggregate":
                return self._aggregate(operator, inputs[0])
            case "Union":
                return self._union(operator, inputs)
            case "Expand":
                return self._expand(operator, inputs[0])
            case "Generate":
                return self._generate(operator, inputs[0])
            case "Window":
                return self._window(operator, inputs[0])
            case "BatchEvalPython" | "ArrowEvalPython":
                return self._python(operator, inputs[0])
            case _ if kind in CONSTANTS:
                return self._values(operator)
        raise Undecodable(f"{operator.node.nodeName()} is evaluated by Spark alone")

    def _scan(self, operator: Operator) -> DecodedOperator:
        name = self.tables.name_of(operator.node)
        if name is None:
            raise Undecodable("the rows come from outside the warehouse")
        return DecodedOperator(Scan(name, self._fresh(operator.fields), origin=operator.origin), operator.ids)

    def _values(self, operator: Operator) -> DecodedOperator:
        try:
            rows = constant_rows(self.jvm, operator.node, [f.type for f in operator.fields])
        except NoPythonValue as reason:
            raise Undecodable(f"constants of type {reason} are kept by Spark alone") from reason
        return DecodedOperator(algebra.Values(rows, self._fresh(operator.fields), origin=operator.origin), operator.ids)

    def _filter(self, operator: Operator, rows: DecodedOperator) -> DecodedOperator:
        condition = self._expressions(rows).decode(_one(operator, "condition"))
        return DecodedOperator(algebra.Filter(rows.plan, condition, origin=operator.origin), rows.ids)

    def _project(self, operator: Operator, rows: DecodedOperator) -> DecodedOperator:
        results = self._results(operator, self._expressions(rows), "projectList")
        columns = _renamed(operator.fields, results)
        return DecodedOperator(algebra.Project(rows.plan, results, columns, origin=operator.origin), operator.ids)

    def _join(self, operator: Operator, left: DecodedOperator, right: DecodedOperator) -> DecodedOperator:
        how = operator.data["joinType"]
        name = str(how.get("object") or how.get("product-class")).rsplit(".", 1)[-1]
        if name not in JOINS:
            raise Undecodable(f"a {name.rstrip('$')} join is evaluated by Spark alone")
        both = {**right.names(), **left.names()}
        found = expression(operator.node, operator.data, "condition")
        condition = None if found is None else self._expressions_of(both).decode(found)
        kept = [f.name for f in (*left.plan.columns, *right.plan.columns)][: len(operator.output)]
        if JOINS[name] == "exists":
            kept = [*(f.name for f in left.plan.columns), self._name("exists")]
        columns = tuple(replace(f, name=n) for f, n in zip(operator.fields, kept, strict=True))
        return DecodedOperator(
            algebra.Join(left.plan, right.plan, JOINS[name], condition, columns, origin=operator.origin), operator.ids
        )

    def _aggregate(self, operator: Operator, rows: DecodedOperator) -> DecodedOperator:
        decoder = self._expressions(rows)
        grouping = expressions(operator.node, operator.data, "groupingExpressions")
        keys = decoder.decode_all(grouping)
        refuse_collated(key.type for key in keys)
        rows = DecodedOperator(in_sessions(rows.plan, keys, items(operator.node.groupingExpressions())), rows.ids)
        results = self._results(operator, decoder, "aggregateExpressions")
        columns = _renamed(operator.fields, results)
        return DecodedOperator(
            algebra.Aggregate(rows.plan, keys, results, columns, origin=operator.origin), operator.ids
        )

    def _union(self, operator: Operator, inputs: Sequence[DecodedOperator]) -> DecodedOperator:
        columns = self._fresh(operator.fields)
        return DecodedOperator(
            algebra.Union(tuple(i.plan for i in inputs), columns, origin=operator.origin), operator.ids
        )

    def _expand(self, operator: Operator, rows: DecodedOperator) -> DecodedOperator:
        decoder = self._expressions(rows)
        lists = operator.data["projections"] or _projections(operator.node)
        found = tuple(
            tuple(decoder.decode(t) for t in _nested(operator.node, "projections", i, lists[i]))
            for i in range(len(lists))
        )
        columns = []
        for i, field in enumerate(operator.fields):
            same = rows.names().get(operator.ids[i])
            handed_on = same is not None and all(projection[i] == same for projection in found)
            columns.append(replace(field, name=same.name) if same and handed_on else self._fresh((field,))[0])
        return DecodedOperator(algebra.Expand(rows.plan, found, tuple(columns), origin=operator.origin), operator.ids)

    def _generate(self, operator: Operator, rows: DecodedOperator) -> DecodedOperator:
        tree = _one(operator, "generator")
        decoder = self._expressions(rows)
        name = GENERATORS.get(tree.kind)
        generator: Expr = (
            decoder.opaque(tree) if name is None else Call(name, decoder.decode_all(tree.parts), tree.type)
        )
        made, outer = len(operator.data["generatorOutput"]), bool(operator.data["outer"])
        dropped = items(operator.node.unrequiredChildIndex())
        kept = [f.name for i, f in enumerate(rows.plan.columns) if i not in dropped]
        taken = tuple(replace(f, name=n) for f, n in zip(operator.fields, kept, strict=False))
        columns = (*taken, *self._fresh(operator.fields[len(kept) :]))
        return DecodedOperator(
            algebra.Generate(rows.plan, generator, outer, made, columns, origin=operator.origin), operator.ids
        )

    def _window(self, operator: Operator, rows: DecodedOperator) -> DecodedOperator:
        decoder = self._expressions(rows)
        partition = decoder.decode_all(expressions(operator.node, operator.data, "partitionSpec"))
        order = tuple(decoder.order(t) for t in expressions(operator.node, operator.data, "orderSpec"))
        refuse_collated((*(p.type for p in partition), *(o.key.type for o in order)))
        results = self._results(operator, decoder, "windowExpressions")
        columns = (*self._columns_of(rows, operator), *_renamed(operator.fields[len(rows.ids) :], results))
        return DecodedOperator(
            algebra.Window(rows.plan, partition, order, results, columns, origin=operator.origin), operator.ids
        )

    def _python(self, operator: Operator, rows: DecodedOperator) -> DecodedOperator:
        """Row-wise Python functions: a projection that adds their results."""
        decoder = self._expressions(rows)
        made = [decoder.opaque(t) for t in expressions(operator.node, operator.data, "udfs")]
        kept = self._columns_of(rows, operator)
        added = self._fresh(operator.fields[len(kept) :])
        results = [Named(f.name, Column(f.name, f.type)) for f in kept]
        results += [Named(f.name, e) for f, e in zip(added, made, strict=True)]
        return DecodedOperator(
            algebra.Project(rows.plan, tuple(results), (*kept, *added), origin=operator.origin), operator.ids
        )

    def _top(self, operator: Operator, data: Iterator[dict[str, Any]]) -> DecodedOperator:
        """LIMIT over OFFSET over a sort, the only form that `normalize` leaves."""
        limit, offset, node, own = None, 0, operator.node, operator.data
        while class_of(node) != "Sort":
            if class_of(node) == "GlobalLimit":
                limit = int(own["limitExpr"][0]["value"])
            elif class_of(node) == "Offset":
                offset = int(own["offsetExpr"][0]["value"])
            node, own = node.child(), next(data)
            self.operators.append(node)
        rows = self._decode(node.child(), data)
        try:
            order = tuple(self._expressions(rows).order(t) for t in expressions(node, own, "order"))
            refuse_collated(o.key.type for o in order)
        except Undecodable as reason:
            return self._seal(operator, [rows], str(reason))
        return DecodedOperator(algebra.Top(rows.plan, order, limit, offset, origin=operator.origin), rows.ids)

    def _seal(self, operator: Operator, inputs: Sequence[DecodedOperator], reason: str) -> DecodedOperator:
        """An operator that only Spark runs, over decoded inputs."""
        known = {i: c for part in inputs for i, c in part.names().items()}
        columns = self._passed_through(operator, known)
        text = rendering(operator.node, known)
        plans = tuple(part.plan for part in inputs)
        return DecodedOperator(SparkOperator(plans, text, reason, columns, origin=operator.origin), operator.ids)

    def _seal_tree(self, operator: Operator, data: Iterator[dict[str, Any]]) -> DecodedOperator:
        """A loop, which only Spark runs, as a whole: its inputs are the tables that it reads."""
        found: list[DecodedOperator] = []
        for child in children(operator.node):
            self._tables_in(child, data, found)
        return self._seal(operator, found, "a recursive query is evaluated by Spark alone")

    def _tables_in(self, node: Node, data: Iterator[dict[str, Any]], found: list[DecodedOperator]) -> None:
        own = next(data)
        if class_of(node) == "LogicalRDD":
            operator = Operator(node, own, len(self.operators), output_of(self.jvm, node))
            self.operators.append(node)
            found.append(self._scan(operator))
            return
        self.operators.append(node)
        for child in children(node):
            self._tables_in(child, data, found)
        for plan in subplans(node):
            self._tables_in(plan, iter(json.loads(plan.toJSON())), found)

    def _expressions(self, rows: DecodedOperator) -> Expressions:
        return self._expressions_of(rows.names())

    def _expressions_of(self, names: dict[Id, Column]) -> Expressions:
        return Expressions(
            names, version=self.jvm.version, plain_strings=self.plain_strings, sparks_own=self.sparks_own
        )

    def _results(self, operator: Operator, decoder: Expressions, name: str) -> tuple[Named, ...]:
        """Named results: a column that is passed on keeps its name, unless it occurs twice."""
        results: list[Named] = []
        for tree in expressions(operator.node, operator.data, name):
            expr = decoder.decode(tree)
            keeps = (
                isinstance(expr, Column)
                and tree.kind == "AttributeReference"
                and all(r.name != expr.name for r in results)
            )
            results.append(
                Named(expr.name if keeps and isinstance(expr, Column) else self._name(tree.data["name"]), expr)
            )
        return tuple(results)

    def _passed_through(self, operator: Operator, known: dict[Id, Column]) -> tuple[Field, ...]:
        """An operator's columns: those of its inputs under their names, others under new ones."""
        columns: list[Field] = []
        for i, field in operator.output:
            name = (
                known[i].name
                if i in known and all(c.name != known[i].name for c in columns)
                else self._name(field.name)
            )
            columns.append(replace(field, name=name))
        return tuple(columns)

    def _columns_of(self, rows: DecodedOperator, operator: Operator) -> tuple[Field, ...]:
        """The columns that an operator takes over from its input, which come first."""
        return tuple(replace(f, name=c.name) for f, c in zip(operator.fields, rows.plan.columns, strict=False))

    def _fresh(self, fields: Sequence[Field]) -> tuple[Field, ...]:
        return tuple(replace(f, name=self._name(f.name)) for f in fields)

    def _name(self, wanted: str) -> str:
        """A name that is new in the plan, without Spark's own counters."""
        wanted = re.sub(r"^_common_expr_\d+$", "_common_expr", wanted)
        wanted = f"c{wanted}" if wanted.startswith("_") else wanted  # such names are the compiler's
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = f"{wanted}_{number}"
        self.taken.add(name)
        return name


def output_of(jvm: Jvm, node: Node) -> tuple[tuple[Id, Field], ...]:
    """The ids, names and types of an operator's columns."""
    nothing = jvm.logical.LocalRelation(jvm.seq([]), jvm.seq([]), False, jvm.none())
    data = json.loads(jvm.logical.Project(node.output(), nothing).toJSON())[0]["projectList"]
    return tuple((column_id(column[0]), decode_field(column[0])) for column in data)


def rendering(node: Node, known: dict[Id, Column]) -> str:
    """Spark's own line for an operator, with the plan's names."""
    return re.sub(r"^UnionLoop \d+", "UnionLoop", rendered(str(node.simpleString(25)), known))


def _projections(expand: Node) -> list[list[Any]]:
    """An Expand's expressions as JSON, which Spark omits if they are in vectors."""
    return [[json.loads(e.toJSON()) for e in items(projection)] for projection in items(expand.projections())]


def _one(operator: Operator, name: str) -> Tree:
    tree = expression(operator.node, operator.data, name)
    if tree is None:
        raise AssertionError(f"{operator.node.nodeName()} without {name}")
    return tree


def _nested(node: Node, name: str, at: int, lists: list[Any]) -> list[Tree]:
    """One of an operator's lists of expressions."""
    return [parse(nodes, lambda i=i: getattr(node, name)().apply(at).apply(i)) for i, nodes in enumerate(lists)]  # type: ignore[misc]


def _renamed(fields: Sequence[Field], results: Sequence[Named]) -> tuple[Field, ...]:
    return tuple(replace(f, name=r.name) for f, r in zip(fields, results, strict=True))
