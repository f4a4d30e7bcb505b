"""The warehouse's tables and views as Spark sees them.

Each is a temporary view of one of our sessions, so SQL and `spark.table` find it by name. Below the view is a mark that
says which table of which warehouse it is, since other things may have the same name. While a definition is analysed,
every marked view is replaced by a leaf over an empty RDD: with an empty local relation the optimizer would fold the
whole plan away, and it must not see the real rows. From then on the id of its RDD identifies a leaf, however Spark
rewrites the plan around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from viewlet.errors import UnknownName, UnsupportedQuery
from viewlet.plan.types import Field
from viewlet.plan.words import quoted
from viewlet.spark.decode.data_types import encode_fields
from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, class_of, copy_with, items

Fields = tuple[Field, ...]
_MARK, _QUERY = "viewlet", "viewlet query"


@dataclass
class Tables:
    """The tables and views of a warehouse that a definition may read, and the leaves that stand for them."""

    fields: Mapping[str, Fields]
    warehouse: str = ""
    """The identifier of the warehouse."""
    names: dict[int, str] = field(default_factory=dict)
    """The table of every RDD."""
    leaves: dict[str, Node] = field(default_factory=dict)

    def name_of(self, leaf: Node) -> str | None:
        """The warehouse's table that a leaf of a plan reads, None if there is none."""
        return self.names.get(int(leaf.rdd().id())) if class_of(leaf) == "LogicalRDD" else None

    def find(self, name: str) -> str:
        """The table with a name, which may have been dropped and created again with other case."""
        known = next((known for known in self.fields if known.lower() == name.lower()), None)
        if known is None:
            raise UnknownName(f"there is no table or view `{name}`")
        return known

    def leaf(self, jvm: Jvm, name: str) -> Node:
        """A plan that reads no rows, with the columns of a table."""
        if name not in self.leaves:
            self.leaves[name] = jvm.empty_leaf(encode_fields(self.fields[name]))
            self.names[int(self.leaves[name].rdd().id())] = name
        return self.leaves[name]


def register(spark: SparkSession, warehouse: str, name: str, rows: DataFrame) -> None:
    """Make the rows of a DataFrame, possibly of another session, readable under a table's name."""
    _register(Jvm(spark), warehouse, name, plan_of(rows))


def register_mentioned(spark: SparkSession, tables: Tables, text: str) -> None:
    """Make every table that a text may mention readable by name in the session, without rows."""
    jvm = Jvm(spark)
    for name in tables.fields:
        if mentions(text, name):
            _register(jvm, tables.warehouse, name, tables.leaf(jvm, name))


def _register(jvm: Jvm, warehouse: str, name: str, plan: Node) -> None:
    jvm.frame(plan).alias(f"{_MARK}:{warehouse}:{name}").createOrReplaceTempView(quoted(name))


def register_query(spark: SparkSession, name: str, query: DataFrame) -> None:
    """Let a name stand for a query in the session, in definitions that read it."""
    jvm = Jvm(spark)
    jvm.frame(plan_of(query)).alias(f"{_QUERY}:{name}").createOrReplaceTempView(quoted(name))


def mentions(text: str, name: str) -> bool:
    """Whether a text may read a table: its name occurs in it, quoted or not."""
    return name.replace("`", "``").lower() in text.lower()


def replace_tables(jvm: Jvm, plan: Node, tables: Tables) -> Node:
    """An analysed plan with a leaf for every use of a table or view of the warehouse."""
    problems: list[Exception] = []

    def rule(node: Node) -> Node | None:
        if class_of(node) != "View":
            return None
        if _alias_of(node).startswith(f"{_QUERY}:"):
            return node.child()
        if (marked := _mark_of(node)) is None:
            return None
        try:
            return _leaf_for(jvm, node, *marked, tables)
        except (UnsupportedQuery, UnknownName) as problem:
            problems.append(problem)
            return None

    replaced = plan.transformDownWithSubqueries(jvm.rule(rule))
    if problems:
        raise problems[0]
    return replaced


def _mark_of(view: Node) -> tuple[str, str] | None:
    """The warehouse and table that a temporary view stands for."""
    mark = _alias_of(view)
    if not mark.startswith(f"{_MARK}:"):
        return None
    _, warehouse, name = mark.split(":", 2)
    return warehouse, name


def _alias_of(view: Node) -> str:
    """The alias below a temporary view, which says what it stands for."""
    below = view.child()
    return str(below.alias()) if class_of(below) == "SubqueryAlias" else ""


def _leaf_for(jvm: Jvm, view: Node, warehouse: str, name: str, tables: Tables) -> Node:
    """A table's leaf under the column ids of a use of its view."""
    if warehouse != tables.warehouse:
        raise UnsupportedQuery(f"`{name}` is a table of another warehouse", hint="read it from this one's `db.spark`")
    name = tables.find(name)
    used, leaf = items(view.output()), tables.leaf(jvm, name)
    if [c.name() for c in used] != [f.name for f in tables.fields[name]]:
        raise UnsupportedQuery(
            f"the definition reads `{name}` as it was before its columns changed",
            hint="make the DataFrame again from the current table",
        )
    output = [column.withExprId(c.exprId()) for column, c in zip(items(leaf.output()), used, strict=True)]
    return copy_with(jvm, leaf, {0: jvm.seq(output)})
