"""Defining a view: Spark analyses the definition, the compiler makes its program and the fragments that it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from viewlet import arguments
from viewlet.columns import evaluate
from viewlet.compile import Abilities, Facts, Rules, compile_view
from viewlet.engine import groups as local
from viewlet.errors import SqlError, UnsupportedQuery, shortened
from viewlet.plan.types import Field
from viewlet.program.codec import to_json
from viewlet.program.identity import Identity
from viewlet.program.program import Program, Step, operators
from viewlet.program.terms import SparkRowwise
from viewlet.views.follow_data import Weighed
from viewlet.views.view import View
from viewlet.warehouse.declare.catalog import Catalog

if TYPE_CHECKING:
    from viewlet.spark.analyse import Analysis
    from viewlet.spark.sessions import Sessions, Settings
    from viewlet.store import Store
    from viewlet.warehouse.warehouse import Warehouse

ABILITIES = Abilities(expression=evaluate.why_not, groups=local.why_not, can_fail=evaluate.can_fail)
POLICIES = ("AUTO", "INCREMENTAL", "INCREMENTAL STRICT", "FULL")
_EPOCHS, _ENOUGH = 100, 10
"""How many of the last epochs rates of change are taken from, and how many are needed."""


@dataclass(frozen=True)
class CompileContext:
    """The compiler's rules, facts about the tables, and the existing maps that a new view can share."""

    rules: Rules = field(default_factory=Rules)
    facts: Facts = field(default_factory=Facts)
    maps: Callable[[Settings], Mapping[Identity, Step]] = lambda _: {}
    taken: frozenset[str] = frozenset()
    """The names of all existing maps."""
    settings: Settings | None = None
    """The settings recorded with the definition; None for the caller's."""


def facts_of(store: Store, catalog: Catalog) -> Facts:
    """Facts about tables and views: sizes, keys, and how much of each recent epochs changed."""
    snapshot = store.snapshot()
    rows = {name: snapshot.contents(name).rows for name in catalog.names()}
    keys = {t.name: tuple(t.names.index(k) for k in t.primary_key) for t in catalog.tables.values() if t.primary_key}
    epochs = [r for r in store.history() if r.get("kind") == "epoch"][-_EPOCHS:]
    changed: dict[str, float] = {}
    for record in epochs:
        for table, counts in record["tables"].items():
            changed[table] = changed.get(table, 0.0) + (counts["inserted"] + counts["deleted"]) / len(epochs)
        for view, done in record["views"].items():
            changed[view] = changed.get(view, 0.0) + (done["inserted"] + done["deleted"]) / len(epochs)
    times = {t.name: t.names.index(t.watermark.column) for t in catalog.tables.values() if t.watermark}
    rates = changed if len(epochs) >= _ENOUGH else {}
    return Facts(rows, keys, rates, catalog.static(), catalog.growing(), times)


def compile_context(
    store: Store, catalog: Catalog, rules: Rules, replaced: Collection[str], settings: Settings | None
) -> CompileContext:
    """The context for compiling a view, ignoring the views that it replaces."""
    maps = partial(shareable_maps, catalog, without=replaced)
    return CompileContext(rules, facts_of(store, catalog), maps, catalog.bags(without=replaced), settings)


def shareable_maps(catalog: Catalog, settings: Settings, *, without: Collection[str]) -> dict[Identity, Step]:
    """By identity, the maps that a view with these settings can share with others."""
    views = [v for v in catalog.views.values() if isinstance(v, View) and v.name not in without]
    return {same: s for v in reversed(views) if v.settings == settings for same, s in v.shareable.items()}


def define(
    warehouse: Warehouse,
    name: str,
    definition: Any,
    *,
    policy: str = "AUTO",
    replaced: Collection[str] = (),
    settings: Settings | None = None,
    catalog: Catalog | None = None,
) -> View:
    """Analyse and compile a definition without creating the view; `replaced` views are ignored.

    It is analysed under the given settings, or else the caller's.
    """
    arguments.definition(name, definition)
    if not isinstance(policy, str) or policy not in POLICIES:
        raise SqlError(f"there is no refresh policy {shortened(policy)}", hint=", ".join(POLICIES))
    catalog = catalog or warehouse.catalog
    schemas = {n: f for n, f in catalog.schemas().items() if n != name}
    given = compile_context(warehouse.store, catalog, warehouse.rules, {name, *replaced}, settings)
    return define_view(warehouse.sessions, name, definition, schemas, policy, warehouse.next_position(), given)


def define_view(
    sessions: Sessions,
    name: str,
    definition: Any,
    schemas: Mapping[str, tuple[Field, ...]],
    policy: str,
    position: int,
    given: CompileContext | None = None,
) -> View:
    """Compile a definition (SQL text or DataFrame) into a view that can be stored."""
    given = given or CompileContext()
    with sessions.analysed(definition, schemas, given.settings) as analysis:
        return _compiled(name, analysis, policy, position, given)


def _compiled(name: str, analysis: Analysis, policy: str, position: int, given: CompileContext) -> View:
    from viewlet.spark.fragments.fragments import make_whole, whole_inputs

    program = compile_view(
        name,
        analysis.plan,
        analysis.columns,
        ABILITIES,
        full=policy == "FULL",
        rules=given.rules,
        facts=given.facts,
        known=given.maps(analysis.settings),
        taken=given.taken,
    )
    if policy == "INCREMENTAL STRICT":
        _refuse_recomputation(program)
    cuts, inputs = whole_inputs(analysis)
    text, fragments = analysis.text, _fragments(analysis, program)
    if text is None or analysis.is_stabilized or analysis.is_session_bound:  # otherwise the text suffices
        fragments["whole"] = make_whole(analysis, 0, cuts)
    return View(
        name,
        program,
        text,
        fragments,
        inputs,
        analysis.is_stabilized,
        policy,
        position,
        settings=analysis.settings,
        spark=analysis.jvm.spark.version,
        changing=analysis.changing,
        plan=None if policy == "FULL" else to_json(analysis.plan),
        weighed=Weighed.of(given.facts, program.reads),
    )


def _fragments(analysis: Analysis, program: Program) -> dict[str, bytes]:
    """The fragments of Spark's plan that a program needs, by name."""
    from viewlet.spark.fragments.fragments import make_keyed, make_rowwise, make_whole
    from viewlet.spark.fragments.spark_operators import fragment_name, spark_terms

    made: dict[str, bytes] = {}
    for term in spark_terms(program):
        if isinstance(term, SparkRowwise):
            made[fragment_name(term)] = make_rowwise(analysis, term.origin)
        else:
            assert term.native is not None
            make = make_keyed if term.is_keyed else make_whole
            made[fragment_name(term)] = make(analysis, *term.native)
    return made


def _refuse_recomputation(program: Program) -> None:
    """INCREMENTAL STRICT: refuse a program with operators that are recomputed."""
    for _, note in operators(program.notes):
        if note.tier == "recompute":
            raise UnsupportedQuery(
                f"view {program.view}: {note.label} would be recomputed on every change: {note.reason}",
                hint="REFRESH POLICY INCREMENTAL allows it",
            )
