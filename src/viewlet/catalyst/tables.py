"""The warehouse's tables and views as Spark sees them.

Each is a temporary view of the session, so that SQL and `spark.table` find it by name. While a definition is
analysed, every use of such a view is replaced by a leaf over an empty RDD: an empty local relation would let the
optimizer fold the whole plan away, and the real rows are none of its business. What identifies a leaf from then
on is the id of its RDD, which survives whatever Spark does to the plan around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession

from viewlet.catalyst.jvm import Jvm, Node, class_of, copy_with, items
from viewlet.catalyst.types import encode_fields, encode_type
from viewlet.errors import UnknownName, UnsupportedQuery
from viewlet.plan.types import Field
from viewlet.sql.words import quoted

Fields = tuple[Field, ...]


@dataclass
class Registry:
    """What a session knows of the warehouse: columns and leaf of every table, and the name behind every RDD."""

    columns: dict[str, Fields] = field(default_factory=dict)
    leaves: dict[str, Node] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def name_of(self, leaf: Node) -> str | None:
        """The table that a leaf of a plan reads, if it is one of the warehouse's."""
        return self.names.get(int(leaf.rdd().id())) if class_of(leaf) == "LogicalRDD" else None


_REGISTRIES: WeakKeyDictionary[SparkSession, Registry] = WeakKeyDictionary()


def registry(spark: SparkSession) -> Registry:
    return _REGISTRIES.setdefault(spark, Registry())


def register(spark: SparkSession, name: str, fields: Fields, frame: DataFrame | None = None) -> None:
    """Make a table readable by its name in the session, with the rows of a DataFrame or with none."""
    known, jvm = registry(spark), Jvm(spark)
    if known.columns.get(name) != fields:
        known.columns[name] = fields
        known.leaves[name] = _leaf(jvm, fields)
        known.names[int(known.leaves[name].rdd().id())] = name
    view = jvm.frame(known.leaves[name]) if frame is None else frame
    view.createOrReplaceTempView(quoted(name))


def register_missing(spark: SparkSession, tables: Mapping[str, Fields]) -> Registry:
    """Make sure that every one of some tables is known to the session with these columns."""
    known = registry(spark)
    catalog = Jvm(spark).session.sessionState().catalog()
    for name, fields in tables.items():
        if known.columns.get(name) != fields or catalog.getTempView(name).isEmpty():
            register(spark, name, fields)
    return known


def _leaf(jvm: Jvm, fields: Fields) -> Node:
    """A plan that reads no rows with these columns."""
    rows = jvm.spark.sparkContext._jsc.emptyRDD()
    frame = jvm.session.createDataFrame(rows, jvm.data_type(encode_fields(fields)))
    return frame.queryExecution().analyzed()


def replace_tables(jvm: Jvm, plan: Node, known: Registry, tables: Mapping[str, Fields]) -> Node:
    """An analysed plan with a leaf for every use of a table or view of the warehouse."""
    by_name = {name.lower(): name for name in tables}
    gone = {name.lower() for name in known.columns} - by_name.keys()
    problems: list[Exception] = []

    def rule(node: Node) -> Node | None:
        if class_of(node) != "View" or not node.isTempView():
            return None
        name = str(node.desc().identifier().table()).lower()
        if name in gone:
            problems.append(UnknownName(f"there is no table or view `{name}`"))
        if name not in by_name:
            return None
        try:
            return _leaf_with(jvm, node, by_name[name], known.leaves[by_name[name]], tables[by_name[name]])
        except UnsupportedQuery as problem:
            problems.append(problem)
            return None

    replaced = plan.transformDownWithSubqueries(jvm.rule(rule))
    if problems:
        raise problems[0]
    return replaced


def _leaf_with(jvm: Jvm, view: Node, name: str, leaf: Node, fields: Fields) -> Node:
    """A table's leaf under the column ids that a use of its view has."""
    used = items(view.output())
    if [c.name() for c in used] != [f.name for f in fields]:
        raise UnsupportedQuery(
            f"the definition reads `{name}` as it was before its columns changed",
            hint="make the DataFrame again from the current table",
        )
    empty = jvm.seq([])
    metadata = jvm.java.org.apache.spark.sql.types.Metadata.empty()
    output = [
        jvm.expressions.AttributeReference(
            f.name, jvm.data_type(encode_type(f.type)), f.nullable, metadata, c.exprId(), empty
        )
        for c, f in zip(used, fields, strict=True)
    ]
    return copy_with(jvm, leaf, {0: jvm.seq(output)})
