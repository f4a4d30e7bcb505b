"""The front end: a definition, SQL text or DataFrame, becomes a plan of the algebra in a tuple of stages.

    analysed by Spark → refused or accepted → STAGES → decoded

A stage turns one of Spark's plans into another with the same columns, which is checked after each.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from viewlet.errors import SqlError, UnknownName, UnsupportedQuery
from viewlet.plan.nodes import Plan, children
from viewlet.plan.types import MONTHS, Field, Type
from viewlet.spark.decode.data_types import decode_declared
from viewlet.spark.decode.expressions import USERS_FUNCTIONS
from viewlet.spark.decode.operators import Decoder
from viewlet.spark.decode.vocabulary import sparks_own
from viewlet.spark.rewrite.collation_keys import group_by_keys, has_collations, join_by_keys
from viewlet.spark.rewrite.guard_failures import ask_harmless_first
from viewlet.spark.rewrite.lift_subqueries import count_instead, lift
from viewlet.spark.rewrite.normalize import normalize
from viewlet.spark.rewrite.pivot import spread_pivots
from viewlet.spark.rewrite.refuse import refuse, refuse_command
from viewlet.spark.rewrite.separate_users import separate_users
from viewlet.spark.rewrite.stabilize import stabilize
from viewlet.spark.session.children import active
from viewlet.spark.session.handles import plan_of
from viewlet.spark.session.jvm import Jvm, Node, quietly
from viewlet.spark.session.leaves import Fields, Tables, register_mentioned, replace_tables
from viewlet.spark.session.session import FAULTY_RULES, leave_out
from viewlet.spark.session.settings import meaning_of
from viewlet.spark.session.versions import CHANGED

_OF_THE_SESSION = re.compile(rf'"[\w.]+\.({"|".join(USERS_FUNCTIONS)}|plans\.logical\.View)"')
_NULLABLE = re.compile(r'"(?:nullable|containsNull|valueContainsNull)": \w+')
_CHANGING = re.compile(rf'"[\w.]+\.({"|".join(CHANGED)})"')
_UNKNOWN = ("TABLE_OR_VIEW_NOT_FOUND", "UNRESOLVED_COLUMN", "UNRESOLVED_ROUTINE")


_RULES_LEFT_OUT = (
    "catalyst.optimizer.MergeScalarSubqueries",
    "catalyst.optimizer.MergeSubplans",  # its name since Spark 4.2
    "catalyst.optimizer.InferWindowGroupLimit",
    "catalyst.optimizer.InjectRuntimeFilter",
    *FAULTY_RULES,
)


@dataclass
class Analysis:
    """The meaning of a definition: its plan, its columns under the user's names, and Spark's own plan."""

    plan: Plan
    columns: tuple[Field, ...]
    text: str | None
    is_stabilized: bool
    """Whether Spark left the result open, and the plan decides it."""
    is_session_bound: bool
    """Whether it uses users' functions or views of the session, of which a text has only the names."""
    settings: Mapping[str, str]
    """The session settings that the definition depends on."""
    changing: tuple[str, ...]
    """The functions in it whose meaning differs between versions of Spark."""
    jvm: Jvm = field(repr=False)
    operators: list[Node] = field(repr=False)
    """Spark's operators, by `origin`."""

    @cached_property
    def by_origin(self) -> dict[int, Plan]:
        """The node that each of Spark's operators became."""
        found: dict[int, Plan] = {}
        todo: list[Any] = [self.plan]
        while todo:
            node = todo.pop()
            found[node.origin] = node
            todo.extend(children(node))
        return found


def analyse(
    spark: SparkSession, definition: str | DataFrame, fields: Mapping[str, Fields], warehouse: str = ""
) -> Analysis:
    """The meaning of a definition over the warehouse's tables and views, given by name.

    The session must be one of ours, and active: table names are registered in it, and optimizer rules are disabled.
    """
    jvm, tables, settings = Jvm(spark), Tables(fields, warehouse), meaning_of(spark)
    if isinstance(definition, str):
        register_mentioned(spark, tables, definition)
        analysed = _analysed_text(jvm, definition)
    else:
        analysed = plan_of(definition)
    analysed = replace_tables(jvm, analysed, tables)
    refuse(analysed, tables)
    columns = tuple(map(decode_declared, json.loads(analysed.schema().json())["fields"]))
    _refuse_duplicates(columns)
    _refuse_types(columns)
    stable = _through(jvm, analysed, SETTLE)
    final = _through(jvm, stable, STAGES[len(SETTLE) :])
    decoder = Decoder(jvm, tables, plain_strings=not has_collations(final), sparks_own=sparks_own(settings))
    plan = decoder.decode(final).plan
    text = definition if isinstance(definition, str) else None
    is_session_bound = bool(_OF_THE_SESSION.search(analysed.toJSON()))
    is_stabilized = not stable.fastEquals(analysed)
    changing = tuple(sorted(set(_CHANGING.findall(final.toJSON()))))
    return Analysis(plan, columns, text, is_stabilized, is_session_bound, settings, changing, jvm, decoder.operators)


def _analysed_text(jvm: Jvm, text: str) -> Node:
    """Spark's analysed plan of a query's text; nothing is executed, whatever the text says."""
    try:
        with quietly():
            parsed = jvm.parsed(text)
            refuse_command(jvm, parsed, text)
            return jvm.analysed(parsed)
    except (PySparkException, Py4JJavaError) as error:
        raise _as_user_error(error) from None


def optimize(jvm: Jvm, plan: Node) -> Node:
    """Spark's optimizer, without the rules that only serve a single execution."""
    leave_out(jvm.spark, _RULES_LEFT_OUT)
    try:
        with quietly(), active(jvm.spark):  # whose settings the optimizer uses
            return jvm.optimized(plan)
    except (PySparkException, Py4JJavaError) as error:
        raise _as_user_error(error) from None


Stage = Callable[[Jvm, Node], Node]

SETTLE: tuple[Stage, ...] = (
    # On the analysed plan, which has the user's operators: afterwards a definition has one result.
    group_by_keys,
    stabilize,
)
STAGES: tuple[Stage, ...] = (
    *SETTLE,
    # Before the optimizer, which would expand these, or fail on them.
    count_instead,
    spread_pivots,
    separate_users,
    optimize,
    # On the optimized plan. Subqueries are lifted out of operators in their final form, and the result is normalized.
    join_by_keys,
    ask_harmless_first,
    normalize,
    lift,
    normalize,
)


def _through(jvm: Jvm, plan: Node, stages: tuple[Stage, ...]) -> Node:
    """Run a plan through stages."""
    for stage in stages:
        before, plan = _types(plan), stage(jvm, plan)
        assert before is None or _types(plan) in (None, before), f"{stage.__name__} changed the columns of a definition"
    return plan


def _types(plan: Node) -> list[str] | None:
    """The types of a plan's columns, ignoring names and nullability.

    None if Spark fails to determine them: it will report that itself when it optimizes the plan.
    """
    try:
        fields = json.loads(plan.schema().json())["fields"]
    except Py4JJavaError:
        return None
    return [_NULLABLE.sub("", json.dumps(field["type"])) for field in fields]


def _as_user_error(error: PySparkException | Py4JJavaError) -> SqlError | UnknownName:
    """Spark's error about a definition, in one line."""
    text = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error).strip()
    line = " ".join(text.split("\n")[0].split())
    line = re.sub(r" SQLSTATE: \w+", "", line).rstrip(";")
    if isinstance(error, Py4JJavaError) and not line.startswith("["):
        return SqlError(f"Spark itself fails on the query: {line}")
    return UnknownName(line) if any(name in line for name in _UNKNOWN) else SqlError(line)


def _refuse_duplicates(columns: tuple[Field, ...]) -> None:
    counts = Counter(f.name.lower() for f in columns)
    twice = next((f.name for f in columns if counts[f.name.lower()] > 1), None)
    if twice is not None:
        raise UnsupportedQuery(
            f"the result has two columns named `{twice}`", hint="give one of them another name with AS"
        )
    for column in columns:
        if (name := _field_twice(column.type)) is not None:
            raise UnsupportedQuery(
                f"column `{column.name}` holds a struct with two fields named `{name}`",
                hint="name the fields: named_struct('a', …, 'b', …)",
            )


def _refuse_types(columns: tuple[Field, ...]) -> None:
    """Refuse types that Arrow, or Spark's exchange with it, cannot hold."""
    for column in columns:
        for name in ("geometry", "geography"):
            if column.type.holds(name):
                hint = "give its WKB, with st_asbinary, and make it again where it is used"
                raise UnsupportedQuery(
                    f"column `{column.name}` holds a {name.upper()}, which views do not support", hint=hint
                )
        if column.type.holds("interval"):
            raise UnsupportedQuery(
                f"column `{column.name}` holds an interval of months, days and seconds together, which has no Arrow type",
                hint="make_ym_interval and make_dt_interval give intervals that have",
            )
        if column.type.name not in MONTHS and column.type.holds(*MONTHS):
            raise UnsupportedQuery(
                f"column `{column.name}` holds intervals of months inside an array, a map or a struct",
                hint="give them columns of their own, or keep numbers of months",
            )


def _field_twice(kind: Type) -> str | None:
    """A field name that occurs twice in one struct, anywhere in a type: Arrow has no such structs."""
    if kind.name == "struct":
        counts = Counter(name for name, _ in kind.args)
        twice = next((name for name, n in counts.items() if n > 1), None)
        return twice or next(filter(None, (_field_twice(part) for _, part in kind.args)), None)
    return next(filter(None, map(_field_twice, kind.parts)), None)


__all__ = ["Analysis", "analyse"]
