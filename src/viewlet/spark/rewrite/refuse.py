"""Refusing, by name, what cannot be kept fresh, found in the analysed plan.

This runs before the optimizer, which turns `current_timestamp()` and the like into constants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from viewlet.errors import UnsupportedFunction, UnsupportedQuery
from viewlet.spark.session.jvm import Jvm, Node, children, class_of, is_subquery, items, walk, walk_plan
from viewlet.spark.session.leaves import Tables

FROZEN = {
    "CurrentTimestamp": "current_timestamp", "CurrentDate": "current_date", "Now": "now", "CurrentTime": "current_time",
    "LocalTimestamp": "localtimestamp", "CurrentBatchTimestamp": "current_timestamp", "CurrentUser": "current_user",
    "CurrentDatabase": "current_database", "CurrentCatalog": "current_catalog", "CurrentTimeZone": "current_timezone",
    "SparkVersion": "version",
}  # fmt: skip
"""Functions that Spark evaluates once per query, and considers deterministic."""

CHANGING = {
    "Rand": "rand", "Randn": "randn", "Uuid": "uuid", "Shuffle": "shuffle", "Uniform": "uniform", "RandStr": "randstr",
    "MonotonicallyIncreasingID": "monotonically_increasing_id", "SparkPartitionID": "spark_partition_id",
    "InputFileName": "input_file_name", "InputFileBlockStart": "input_file_block_start",
    "InputFileBlockLength": "input_file_block_length", "CallMethodViaReflection": "java_method",
    "TryReflect": "try_reflect", "AesEncrypt": "aes_encrypt",
}  # fmt: skip
"""Functions that return a different value for every row or every run."""

OPEN = frozenset(
    ("First", "Last", "AnyValue", "CollectList", "CollectSet", "PivotFirst", "Mode", "ListAgg", "AggregateExpression")
)
"""Aggregates that Spark considers non-deterministic because of ties; stabilizing makes them deterministic."""

CONSTANT_LEAVES = frozenset(("LocalRelation", "OneRowRelation", "OneRowRelation$", "Range", "EmptyRelation"))
LOOP_LEAVES = frozenset(("CTERelationRef", "UnionLoopRef"))


def refuse_command(jvm: Jvm, parsed: Node, text: str) -> None:
    """Raise for a statement that is not a query."""
    if jvm.is_kind(parsed, "Command") or jvm.is_kind(parsed, "ParsedStatement"):
        raise _no_query(text.split()[0].upper())


def _no_query(word: str) -> UnsupportedQuery:
    return UnsupportedQuery(
        f"{word} is not a query, and a view is defined by one", hint="define the view with a SELECT"
    )


def refuse(plan: Node, tables: Tables) -> None:
    """Raise for the first thing in an analysed plan that Viewlet cannot keep fresh."""
    classes = set(_classes(json.loads(plan.toJSON())))
    for known in (FROZEN, CHANGING):
        for name in sorted(classes & known.keys()):
            raise _changing_function(known[name])
    if "VariableReference" in classes:
        raise UnsupportedQuery("a session variable may change unnoticed", hint="write its value instead")
    for node in walk_plan(plan):
        _refuse_node(node, tables)
    if not plan.deterministic():
        _refuse_undeclared(plan)


def _classes(data: Any) -> Iterator[str]:
    """The short names of all classes in a plan's JSON, including subqueries."""
    if isinstance(data, dict):
        if "class" in data:
            yield data["class"].rsplit(".", 1)[-1]
        for value in data.values():
            yield from _classes(value)
    elif isinstance(data, list):
        for value in data:
            yield from _classes(value)


def _refuse_node(node: Node, tables: Tables) -> None:
    kind = class_of(node)
    if kind == "Sample":
        raise UnsupportedFunction(
            "TABLESAMPLE takes other rows every time, so the view could not be kept fresh",
            hint="filter on a hash of a column: WHERE pmod(hash(id), 10) = 0",
        )
    if node.isStreaming():
        raise UnsupportedQuery(
            "a stream cannot define a view", hint="read the table instead; a view is kept fresh as it changes"
        )
    if kind.endswith("Command") or kind in ("InsertIntoStatement", "WriteFiles", "CreateTable"):
        raise _no_query(str(node.nodeName()))
    if (
        node.children().isEmpty()
        and kind not in CONSTANT_LEAVES
        and kind not in LOOP_LEAVES
        and tables.name_of(node) is None
    ):
        raise _foreign_leaf(node, kind)


def _foreign_leaf(node: Node, kind: str) -> UnsupportedQuery:
    """The error for a source outside the warehouse, with the best name available."""
    hint = "create a table in the warehouse and insert the data"
    if kind == "LogicalRelation":
        table = node.catalogTable()
        name = f"`{table.get().identifier().unquotedString()}`" if table.isDefined() else _location(node.relation())
        return UnsupportedQuery(f"{name} is not a table or view of the warehouse", hint=hint)
    if kind == "LogicalRDD":
        columns = ", ".join(f.name() for f in node.schema().fields())
        return UnsupportedQuery(
            f"a DataFrame with the columns {columns} is not a table or view of the warehouse", hint=hint
        )
    return UnsupportedQuery(f"{node.simpleString(5)} is not a table or view of the warehouse", hint=hint)


def _location(relation: Node) -> str:
    """The location of a relation's files, or the kind of source."""
    if class_of(relation) == "HadoopFsRelation":
        return f"the folder {relation.location().rootPaths().mkString(', ')}"
    return f"the data source {class_of(relation)}"


def _refuse_undeclared(plan: Node) -> None:
    """Raise for the function that makes a plan non-deterministic, unless stabilizing handles it."""
    for node in walk_plan(plan):
        for root in items(node.expressions()):
            for expr in walk(root):
                if _is_source(expr):
                    raise _changing_function(str(expr.name() if class_of(expr) == "PythonUDF" else expr.prettyName()))


def _is_source(expr: Node) -> bool:
    """Whether an expression is not deterministic although its arguments are."""
    if expr.deterministic() or class_of(expr) in OPEN or is_subquery(expr):
        return False
    return all(child.deterministic() for child in children(expr))


def _changing_function(name: str) -> UnsupportedFunction:
    return UnsupportedFunction(
        f"{name}() gives another answer every time, so the view could not be kept fresh",
        hint="compute it once, into a column of the table",
    )
