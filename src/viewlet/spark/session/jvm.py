"""Access to the JVM: Spark's own plan and expression objects, handled from Python.

A plan is rewritten by building new Catalyst nodes; existing ones are never changed. The rules that Viewlet applies are
Python functions; where Spark has to walk a tree (subqueries inside expressions), it calls them back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from viewlet.spark.session.handles import context_of, gateway_of, java_of, session_of
from viewlet.spark.session.versions import probe, version_of

Node = Any
"""A Catalyst plan or expression: an object in the JVM."""

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"

Rule = Callable[[Node], Node | None]
"""Returns the replacement of a node, or None to leave it as it is."""


class Jvm:
    """The JVM of a Spark session, with builders for Catalyst nodes."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.java = java_of(spark)
        self.session: Any = session_of(spark)
        catalyst = self.java.org.apache.spark.sql.catalyst
        self.logical: Any = catalyst.plans.logical
        self.plans: Any = catalyst.plans
        self.expressions: Any = catalyst.expressions
        self.aggregate: Any = catalyst.expressions.aggregate
        probe(spark)
        ensure_callback_server_started(gateway_of(spark))  # type: ignore[no-untyped-call]

    @cached_property
    def version(self) -> tuple[int, int]:
        return version_of(self.spark.version)

    def seq(self, items: Iterable[Any]) -> Node:
        return self.java.PythonUtils.toSeq(list(items))

    def none(self) -> Node:
        return self.java.scala.Option.empty()

    def some(self, value: Any) -> Node:
        return self.java.scala.Option.apply(value)

    def array(self, items: Sequence[Any]) -> Any:
        gateway: Any = gateway_of(self.spark)
        result = gateway.new_array(self.java.java.lang.Object, len(items))
        for i, item in enumerate(items):
            result[i] = item
        return result

    def rule(self, rule: Rule) -> PartialFunction:
        return PartialFunction(rule)

    def data_type(self, encoded: Any) -> Node:
        """A data type, from its JSON."""
        return self.java.org.apache.spark.sql.types.DataType.fromJson(json.dumps(encoded))

    def delay(self, text: str) -> int:
        """The milliseconds of a watermark's delay, such as `10 minutes`."""
        interval = self.java.org.apache.spark.sql.catalyst.util.IntervalUtils.fromIntervalString(text)
        return int(module(getattr(self.logical, "EventTimeWatermark$")).getDelayMs(interval))

    def new_id(self) -> Node:
        return self.expressions.NamedExpression.newExprId()

    def alias(self, expr: Node, name: str, expr_id: Node | None = None) -> Node:
        """An expression with a name, and with the given id to replace an existing column."""
        expr_id = self.new_id() if expr_id is None else expr_id
        return self.expressions.Alias(expr, name, expr_id, self.seq([]), self.none(), self.seq([]))

    def attribute(self, name: str, data_type: Node, *, nullable: bool = True) -> Node:
        return self.column(name, data_type, self.new_id(), nullable=nullable)

    def column(self, name: str, data_type: Node, expr_id: Node, *, nullable: bool) -> Node:
        """The column with an id."""
        metadata = self.java.org.apache.spark.sql.types.Metadata.empty()
        return self.expressions.AttributeReference(name, data_type, nullable, metadata, expr_id, self.seq([]))

    def literal(self, value: Any) -> Node:
        return module(getattr(self.expressions, "Literal$")).apply(value)

    def null(self, data_type: Node) -> Node:
        return self.expressions.Literal(None, data_type)

    def bigint(self, value: int) -> Node:
        """A BIGINT constant; Python's small integers arrive in the JVM as INT."""
        return self.cast(self.literal(value), self.data_type("long"))

    def cast(self, expr: Node, data_type: Node) -> Node:
        return self.expressions.Cast(expr, data_type, self.some("UTC"))

    def can_fail_to_cast(self, cast: Node) -> bool:
        """Whether a cast can fail on values of its argument's type."""
        widens = module(getattr(self.expressions, "Cast$")).canUpCast(cast.child().dataType(), cast.dataType())
        return str(cast.evalMode().toString()) == "ANSI" and not widens

    def project(self, columns: Iterable[Node], child: Node) -> Node:
        return self.logical.Project(self.seq(columns), child)

    def sort(self, order: Iterable[Node], child: Node) -> Node:
        return self.logical.Sort(self.seq(order), True, child, self.none())

    def aggregate_by(self, keys: Iterable[Node], results: Iterable[Node], child: Node) -> Node:
        return self.logical.Aggregate(self.seq(keys), self.seq(results), child, self.none())

    def join(self, left: Node, right: Node, kind: Node, condition: Node | None) -> Node:
        hint = self.logical.JoinHint.NONE()
        return self.logical.Join(left, right, kind, self.none() if condition is None else self.some(condition), hint)

    def join_kind(self, name: str) -> Node:
        return module(getattr(self.plans, f"{name}$"))

    def scalar_subquery(self, plan: Node, expr_id: Node | None = None) -> Node:
        """The value of a plan of one row, in an expression."""
        expr_id = self.new_id() if expr_id is None else expr_id
        empty, none = self.seq([]), self.none()
        return self.expressions.ScalarSubquery(plan, empty, expr_id, empty, none, none, none)

    def ascending(self, expr: Node) -> Node:
        direction = module(getattr(self.expressions, "Ascending$"))
        return self.expressions.SortOrder(expr, direction, direction.defaultNullOrdering(), self.seq([]))

    def struct(self, values: Sequence[Node]) -> Node:
        """A struct of some values, with fields c0, c1 …"""
        parts = [part for i, value in enumerate(values) for part in (self.literal(f"c{i}"), value)]
        return self.expressions.CreateNamedStruct(self.seq(parts))

    def reduce(self, function: Node, *, where: Node | None = None) -> Node:
        """A call of an aggregate function."""
        return function.toAggregateExpression(False, self.none() if where is None else where)

    def is_orderable(self, expr: Node) -> bool:
        # of a type rather than an expression, Py4J may ask the wrong overload: Scala's StructType is a Seq, too
        return bool(self.expressions.RowOrdering.isOrderable(self.seq([expr])))

    def parsed(self, text: str) -> Node:
        """A parsed text, with names not yet resolved."""
        return self.session.sessionState().sqlParser().parsePlan(text)

    def analysed(self, parsed: Node) -> Node:
        """A parsed plan with its names resolved; nothing is executed, not even a command."""
        skip = self.java.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
        return self.session.sessionState().executePlan(parsed, skip).analyzed()

    def optimized(self, analysed: Node) -> Node:
        return self.session.sessionState().optimizer().execute(analysed)

    def apply_rules(self, plan: Node, names: Iterable[str]) -> Node:
        """A plan after some optimizer rules, each applied once."""
        rules = self.java.org.apache.spark.sql.catalyst.optimizer
        for name in names:
            plan = module(getattr(rules, f"{name}$")).apply(plan)
        return plan

    def is_kind(self, plan: Node, kind: str) -> bool:
        """Whether a plan is of a class of Spark's logical plans, or a subclass."""
        return bool(self.java.java.lang.Class.forName(f"{_LOGICAL}.{kind}").isInstance(plan))

    def empty_leaf(self, schema: Any) -> Node:
        """A plan that reads an RDD without rows, with the columns of a schema in JSON."""
        rows = context_of(self.spark).emptyRDD()
        return self.session.createDataFrame(rows, self.data_type(schema)).queryExecution().analyzed()

    def serialized(self, plan: Node) -> bytes:
        """A plan serialized by Java."""
        fresh = plan.clone()  # without cached properties of the plan, which Java cannot write
        buffer = self._serializer().serialize(fresh, self._any_class())
        return bytes(buffer.array())[: buffer.limit()]

    def deserialized(self, body: bytes) -> Node:
        return self._serializer().deserialize(self.java.java.nio.ByteBuffer.wrap(body), self._any_class())

    def _serializer(self) -> Any:
        # SparkEnv has one too, but since Spark 4.3 reflection fails on its class, for lack of a library.
        conf = context_of(self.spark).sc().conf()
        return self.java.org.apache.spark.serializer.JavaSerializer(conf).newInstance()

    def _any_class(self) -> Any:
        return module(getattr(self.java.scala.reflect, "ClassTag$")).Any()

    def frame(self, plan: Node) -> DataFrame:
        """A DataFrame that runs an already analysed plan."""
        plan.setAnalyzed()
        classic = self.java.org.apache.spark.sql.classic
        return DataFrame(classic.Dataset.ofRows(self.session, plan), self.spark)


class PartialFunction:
    """A Python rule as Scala's PartialFunction, for Spark's own tree walks."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def isDefinedAt(self, node: Node) -> bool:
        return True

    def apply(self, node: Node) -> Node:
        found = self.rule(node)
        return node if found is None else found

    def applyOrElse(self, node: Node, default: Node) -> Node:
        return self.apply(node)

    class Java:
        implements = ["scala.PartialFunction"]  # noqa: RUF012 (the form that py4j asks for)


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress PySpark's own logging, many lines of JSON, of errors that are raised anyway."""
    from pyspark.logger import PySparkLogger

    names = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
    logs = [PySparkLogger.getLogger(name) for name in names]  # PySpark does not accept plain loggers of these names
    before = [log.disabled for log in logs]
    for log in logs:
        log.disabled = True
    try:
        yield
    finally:
        for log, was in zip(logs, before, strict=True):
            log.disabled = was


def singleton(near: Node, name: str) -> Node:
    """A Scala object's single instance, found by name through the class loader of another object's class."""
    loader = near.getClass().getClassLoader()
    return loader.loadClass(f"org.apache.spark.sql.catalyst.{name}$").getField("MODULE$").get(None)


def module(holder: Any) -> Node:
    """The single instance of a Scala object."""
    return getattr(holder, "MODULE$")


def items(seq: Node) -> list[Node]:
    """The elements of a Scala Seq."""
    return [seq.apply(i) for i in range(seq.length())]


def class_of(node: Node) -> str:
    """The short name of a node's class: `Filter`, `AttributeReference`."""
    return str(node.getClass().getName()).rsplit(".", 1)[-1]


def children(node: Node) -> list[Node]:
    return items(node.children())


def subplans(plan: Node) -> list[Node]:
    """The plans of the subqueries in a plan's own expressions."""
    return items(plan.subqueries())


def walk(node: Node) -> Iterator[Node]:
    """A tree's nodes, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def walk_plan(plan: Node) -> Iterator[Node]:
    """A plan's nodes in preorder: a node, then its children, then the plans of its subqueries."""
    yield plan
    for part in (*children(plan), *subplans(plan)):
        yield from walk_plan(part)


def copy_with(jvm: Jvm, node: Node, changes: dict[int, Any]) -> Node:
    """A node with some constructor arguments replaced, by position."""
    arguments = [node.productElement(i) for i in range(node.productArity())]
    for at, value in changes.items():
        arguments[at] = value
    return node.makeCopy(jvm.array(arguments))


def rebuild(jvm: Jvm, plan: Node, parts: Sequence[Node]) -> Node:
    """A plan with other children and other subquery plans, in the order of `walk_plan`."""
    count = plan.children().length()
    plan = plan.withNewChildren(jvm.seq(parts[:count]))
    if len(parts) == count:
        return plan
    left = list(parts[count:])

    def replace(expr: Node) -> Node | None:
        return expr.withNewPlan(left.pop(0)) if is_subquery(expr) else None

    return plan.transformExpressions(jvm.rule(replace))


def is_subquery(expr: Node) -> bool:
    """Whether an expression contains a plan."""
    return class_of(expr) in ("ScalarSubquery", "Exists", "ListQuery", "LateralSubquery", "DynamicPruningSubquery")


def same_expr(a: Node, b: Node) -> bool:
    """Whether two expressions mean the same."""
    return bool(a.semanticEquals(b))


def conjuncts(condition: Node) -> list[Node]:
    """The terms of a conjunction."""
    if class_of(condition) != "And":
        return [condition]
    return [*conjuncts(condition.left()), *conjuncts(condition.right())]


def conjunction(jvm: Jvm, terms: list[Node]) -> Node:
    result = terms[0]
    for term in terms[1:]:
        result = jvm.expressions.And(result, term)
    return result
