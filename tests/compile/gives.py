"""What each module of the compiler gives for a plan, as text: the parts of a fixture, by heading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from tests.compile.fixtures import Decoded
from viewlet.compile import STAGES, Abilities, Facts, Rules, compile_view
from viewlet.compile.distribute import NONE as NOTHING
from viewlet.compile.distribute import Optimizations, distribute
from viewlet.compile.distribute.fill import filling, most_rows
from viewlet.compile.distribute.lineage import Lineage
from viewlet.compile.distribute.place import Placement
from viewlet.compile.distribute.spots import ANYWHERE, Routes, Spot
from viewlet.compile.eviction import evictions_of
from viewlet.compile.keyed.sessionize import seal_sessions
from viewlet.compile.keyed.window_locality import leading_rows, nearby_rows
from viewlet.compile.lower import Lowering, lower_view
from viewlet.compile.monoid.growth import grows
from viewlet.compile.rewrite.domains import narrowed, never_null, unique_columns
from viewlet.compile.rewrite.running_sums import running_sums
from viewlet.compile.rewrite.split_distinct import split_distinct
from viewlet.compile.rewrite.split_not_in import split_not_in
from viewlet.compile.rewrite.split_or import split_or
from viewlet.compile.rewrite.split_sketches import split_sketches
from viewlet.compile.ring.calculus import Atom, Clause, Expansion
from viewlet.compile.ring.existence import Matching
from viewlet.compile.ring.inequality import isolate, split_disjunctions
from viewlet.compile.ring.polynomial import Product as Monomials
from viewlet.compile.ring.polynomial import double_polynomial, polynomial
from viewlet.compile.ring.product import Product
from viewlet.compile.ring.route import Visit
from viewlet.compile.ring.shape import Shape
from viewlet.compile.ring.split_infinite import split_infinite
from viewlet.plan.expr import Expr, substitute
from viewlet.plan.nodes import Aggregate, Join, Plan, Scan, Window, calls_of, children, column
from viewlet.plan.show import show, show_expr, show_node
from viewlet.plan.types import DOUBLE, Field
from viewlet.program.access import Leading, Nearby
from viewlet.program.chain import chain, changes_read
from viewlet.program.distributed import Block, Distributed
from viewlet.program.identity import identity
from viewlet.program.program import Eviction, Program
from viewlet.program.show import show_map
from viewlet.program.show_distributed import show_blocks, show_jobs, show_places, show_tag
from viewlet.program.terms import Probe, Term
from viewlet.views.define import ABILITIES
from viewlet.views.explain import explain_program

Parts = dict[str, str]
Gives = Callable[[Decoded, Facts], Parts]
NONE = Abilities(lambda _: "nothing is evaluated here", lambda _: "nothing is evaluated here", lambda _: False)
"""Of an engine that leaves everything to Spark."""


def as_text(parts: Parts) -> str:
    """The parts of a fixture below its query."""
    return "".join(f"-- {heading}\n{text}\n" for heading, text in parts.items())


def program(decoded: Decoded, facts: Facts) -> Parts:
    """Operators with tiers and reasons, maps and statements."""
    return {"program": _explained(compile_view("v", decoded.plan, decoded.columns, ABILITIES, facts=facts))}


def program_on_spark(decoded: Decoded, facts: Facts) -> Parts:
    """The same for an engine that can evaluate nothing itself."""
    return {"program": _explained(compile_view("v", decoded.plan, decoded.columns, NONE, facts=facts))}


def _explained(made: Program) -> str:
    return explain_program(made, verbose=True)


def shared(decoded: Decoded, facts: Facts) -> Parts:
    """A view, and a second one with the same definition, which finds the maps of the first."""
    first = compile_view("v", decoded.plan, decoded.columns, ABILITIES, facts=facts)
    held = {identity(step.terms, step.map.sums): step for step in first.steps if step.map.name != "v"}
    known = {same: step for same, step in held.items() if same is not None}
    taken = frozenset(m.name for m in first.maps)
    second = compile_view("w", decoded.plan, decoded.columns, ABILITIES, facts=facts, known=known, taken=taken)
    return {"maps": _maps(first), "maps of a second view": _maps(second)}


def without_rules(decoded: Decoded, facts: Facts) -> Parts:
    """The maps, and those that are kept with each of the rules switched off."""

    def maps(rules: Rules) -> str:
        return _maps(compile_view("v", decoded.plan, decoded.columns, ABILITIES, facts=facts, rules=rules))

    usual = maps(Rules())
    others = {name: maps(replace(Rules(), **{name: False})) for name in Rules.__dataclass_fields__}
    return {"maps": usual} | {
        f"maps without {name}": "the same" if other == usual else other for name, other in others.items()
    }


def _maps(made: Program) -> str:
    return "\n".join(show_map(m) for m in made.maps if m.stored)


def rewritten(stage: Callable[[Plan, Abilities], Plan]) -> Gives:
    """The plan before and after a pass, which leaves its schema as it is."""

    def parts(decoded: Decoded, facts: Facts) -> Parts:
        after = stage(decoded.plan, ABILITIES)
        assert [(f.name, f.type) for f in after.columns] == [(f.name, f.type) for f in decoded.plan.columns]
        return {"plan": show(decoded.plan), "rewritten": show(after)}

    return parts


def sessions(decoded: Decoded, facts: Facts) -> Parts:
    """Sessions that are left to Spark, or gathered here."""
    return rewritten(seal_sessions)(decoded, facts) | program(decoded, facts)


def evictions(decoded: Decoded, facts: Facts) -> Parts:
    """The maps that evict groups, or why all groups stay."""
    plan = decoded.plan
    for _, stage in STAGES:
        plan = stage(plan, ABILITIES)
    made = lower_view(_build(facts), plan, decoded.columns)
    found = evictions_of(plan, made, ABILITIES, facts)
    lines = [found] if isinstance(found, str) else [_eviction(e) for e in found]
    return {"maps": _maps(made), "evictions": "\n".join(lines)}


def _eviction(eviction: Eviction) -> str:
    keys = ", ".join(map(show_expr, eviction.keys))
    ends = " at its end" if eviction.at_end else ""
    return (
        f"{eviction.map} by {eviction.column}{ends}: {keys}, where {eviction.time.name} is the time of {eviction.table}"
    )


def by_operator(says: Callable[[Plan, Facts], str]) -> Gives:
    """What is said of each operator of a plan."""

    def parts(decoded: Decoded, facts: Facts) -> Parts:
        lines = [f"{show_node(node)}\n  {says(node, facts)}" for node in _nodes(decoded.plan)]
        return {"operators": "\n".join(lines)}

    return parts


def _nodes(plan: Plan) -> Iterator[Plan]:
    yield plan
    for child in children(plan):
        yield from _nodes(child)


def _growth(plan: Plan, facts: Facts) -> str:
    return "only grows" if grows(plan, facts.growing) else "may shrink"


def _domain(plan: Plan, facts: Facts) -> str:
    unique, there = unique_columns(plan), sorted(never_null(plan))
    told = (
        "no columns are known to be unique" if unique is None else f"unique: {', '.join(sorted(unique)) or 'one row'}"
    )
    return f"{told}; never NULL: {', '.join(there) or 'none'}"


def domains(decoded: Decoded, facts: Facts) -> Parts:
    """What is known of each operator's columns; then the nested aggregates, asked for no more than is wanted."""
    joins = [node for node in _nodes(decoded.plan) if isinstance(node, Join)]
    asked = [show(found) for join in joins if (found := narrowed(join, lambda _: True)) is not join]
    return by_operator(_domain)(decoded, facts) | {"narrowed": "\n".join(asked) or "nothing"}


def windows(decoded: Decoded, facts: Facts) -> Parts:
    """What each window reads around a change, and of each partition."""
    found = [node for node in _nodes(decoded.plan) if isinstance(node, Window)]
    lines = [
        f"{show_node(window)}\n  around a change: {_read(nearby_rows(window))}\n"
        f"  of a partition: {_read(leading_rows(window, decoded.plan))}"
        for window in found
    ]
    return {"plan": show(decoded.plan), "reads": "\n".join(lines)}


def _read(found: Nearby | Leading | None) -> str:
    return "everything" if found is None else repr(found)


def matchings(decoded: Decoded, facts: Facts) -> Parts:
    """What connects the sides of each join, where a partner's existence follows from it."""
    joins = [node for node in _nodes(decoded.plan) if isinstance(node, Join) and node.kind != "inner"]
    return {"matching": "\n".join(f"{show_node(join)}\n{_matching(Matching.of(join))}" for join in joins)}


def _matching(found: Matching | None) -> str:
    if found is None:
        return "  none"
    lines = [f"  connects: {_conditions(found.connecting)}"]
    lines += [
        f"  of the {side}: {_conditions(own)}" for side, own in (("left", found.left), ("right", found.right)) if own
    ]
    if found.inequality is not None:
        swapped = found.swapped().inequality
        assert swapped is not None
        lines.append(
            f"  extreme: {show_expr(found.inequality.extreme())}; seen from the right: {show_expr(swapped.extreme())}"
        )
    return "\n".join(lines)


def _conditions(conditions: Iterable[Expr]) -> str:
    return " AND ".join(map(show_expr, conditions)) or "nothing"


def clauses(decoded: Decoded, facts: Facts) -> Parts:
    """The sum of products that a block is."""
    return {"clauses": "\n".join(map(_clause, Expansion(_build(facts)).of(decoded.plan)))}


def _build(facts: Facts) -> Lowering:
    return Lowering("v", ABILITIES, Rules(), facts)


def _clause(clause: Clause) -> str:
    results = ", ".join(f"{name} := {show_expr(e)}" for name, e in clause.results.items())
    product = f"{'−' if clause.sign < 0 else '+'} {' ⋈ '.join(map(_factor, clause.atoms))}"
    return f"{product}\n  where {_conditions(clause.conditions)}\n  {results}"


def _factor(atom: Atom) -> str:
    tables = ", ".join(sorted(atom.tables))
    return tables if isinstance(atom.label, Scan) else f"{type(atom.label).__name__}({tables})"


def by_product(says: Callable[[Product], list[str]]) -> Gives:
    """What is said of each product of a block, whose sums are pushed into it if an aggregate is on top."""

    def parts(decoded: Decoded, facts: Facts) -> Parts:
        return {"products": "\n".join(line for made in _products(decoded.plan, facts) for line in says(made))}

    return parts


def _products(plan: Plan, facts: Facts) -> Iterator[Product]:
    """The products below an aggregate, or of a block."""
    build = _build(facts)
    block = plan.rows if isinstance(plan, Aggregate) else plan
    for clause in Expansion(build).of(block):
        keys = plan.keys if isinstance(plan, Aggregate) else tuple(map(column, plan.columns))
        outputs = [(Field(f"_k{i}", k.type), substitute(k, clause.results)) for i, k in enumerate(keys)]
        yield Product(build, clause, outputs)


def _shape(product: Product) -> list[str]:
    shape = product.shape
    lines = [
        f"{_factor(atom)}\n  keeps {', '.join(map(show_expr, kept)) or 'nothing'}\n  where {_conditions(local)}"
        for atom, kept, local in zip(shape.atoms, shape.fields, shape.local, strict=True)
    ]
    lines += [f"equal: {_columns(shape, variable.items())}" for variable in shape.variables]
    lines += [f"equal or both NULL: {_columns(shape, ((i, a), (j, b)))}" for i, a, j, b in shape.null_safe]
    lines += [f"range: {show_expr(r.condition())}" for r in shape.ranges]
    return lines + [f"residual: {_conditions(shape.residual)}"] * bool(shape.residual)


def _columns(shape: Shape, columns: Iterable[tuple[int, str]]) -> str:
    return " = ".join(f"{_factor(shape.atoms[i])}.{name}" for i, name in columns)


def _routes(product: Product) -> list[str]:
    """The look-ups of the statement that starts from each factor's delta."""
    shape = product.shape
    found = [(i, product.router.route(i, shape.everything)) for i in shape.starts(shape.everything)]
    return [" → ".join((f"Δ{_factor(shape.atoms[i])}", *(_visit(shape, v) for v in route))) for i, route in found]


def _visit(shape: Shape, visit: Visit) -> str:
    by = [f"{m.column}{' <=> ' if m.null_safe else ' = '}{m.map_column}" for m in visit.on]
    by += [show_expr(r.condition()) for r, _ in visit.ranges]
    names = " ⋈ ".join(_factor(shape.atoms[i]) for i in sorted(visit.piece.atoms))
    return f"{'sum of ' if visit.adds else ''}{names}[{', '.join(by)}]"


def _estimates(product: Product) -> list[str]:
    """How many rows of each factor a row of another is expected to meet."""
    shape, costs = product.shape, product.costs
    lines = [f"{_factor(a)}: {size:,.0f} rows" for a, size in zip(shape.atoms, costs.sizes, strict=True)]
    pairs = [(i, j) for i in sorted(shape.everything) for j in sorted(shape.everything) if i != j]
    return lines + [
        f"{_factor(shape.atoms[i])} → {_factor(shape.atoms[j])}: {costs.fan_out(j, frozenset([i])):,.2f}"
        for i, j in pairs
    ]


def costs(decoded: Decoded, facts: Facts) -> Parts:
    """What is estimated of a join's factors, and which components it pays to keep."""
    made = compile_view("v", decoded.plan, decoded.columns, ABILITIES, facts=facts)
    return by_product(_estimates)(decoded, facts) | {"choices": "\n".join(made.choices)}


def polynomials(decoded: Decoded, facts: Facts) -> Parts:
    """The arguments of an aggregate as sums of products, a factor for each table."""
    build = _build(facts)
    assert isinstance(decoded.plan, Aggregate)
    lines = []
    for clause in Expansion(build).of(decoded.plan.rows):
        for argument in dict.fromkeys(a for call in calls_of(decoded.plan) for a in call.args):
            split = double_polynomial if argument.type == DOUBLE else polynomial
            found = split(build, clause.home, substitute(argument, clause.results))
            lines.append(f"{show_expr(argument)} = {_polynomial(found)}")
    return {"polynomials": "\n".join(lines)}


def _polynomial(found: list[Monomials] | None) -> str:
    if found is None:
        return "no exact polynomial"
    return " + ".join(" · ".join([str(c), *(f"[{show_expr(e)}]" for e in factors.values())]) for c, factors in found)


def factorized(decoded: Decoded, facts: Facts) -> Parts:
    """The polynomials, and the maps of their factors."""
    return polynomials(decoded, facts) | program(decoded, facts)


def finite_parts(decoded: Decoded, facts: Facts) -> Parts:
    """The clauses that differences of doubles become, and their inequalities; then the maps."""
    build = _build(facts)
    assert isinstance(decoded.plan, Aggregate)
    parts = [part for clause in Expansion(build).of(decoded.plan.rows) for part in split_infinite(build, clause)]
    return {"clauses": "\n".join(f"where {_conditions(part.conditions)}" for part in parts)} | program(decoded, facts)


def inequalities(decoded: Decoded, facts: Facts) -> Parts:
    """The conditions of each clause with one factor on each side, and the clauses that disjunctions become."""
    build = _build(facts)
    lines = []
    for clause in Expansion(build).of(decoded.plan):
        for condition in clause.conditions:
            sides = isolate(build, clause.home, condition)
            if sides is not None:
                offset = "" if sides.offset is None else f" + {show_expr(sides.offset)}"
                lines.append(
                    f"{show_expr(condition)}  ⟶  {show_expr(sides.less)}{offset} {'<' if sides.strict else '<='} {show_expr(sides.more)}"
                )
        for part in split_disjunctions(build, clause):
            lines.append(f"{'−' if part.sign < 0 else '+'} where {_conditions(part.conditions)}")
    return {"inequalities": "\n".join(lines)}


def _compiled(decoded: Decoded, facts: Facts) -> Program:
    return compile_view("v", decoded.plan, decoded.columns, ABILITIES, facts=facts)


def domains_of_columns(decoded: Decoded, facts: Facts) -> Parts:
    """How large maps are estimated to be, and which of their columns hold keys of how many values."""
    made = _compiled(decoded, facts)
    lineage = Lineage(made.steps, facts)
    lines = []
    for kept in made.maps:
        known = [(f.name, lineage.cardinality(kept.name, f.name)) for f in kept.columns]
        keys = ", ".join(f"{name}: {count:,.0f}" for name, count in known if count is not None)
        lines.append(f"{kept.name}: {lineage.rows[kept.name]:,.0f} rows; {keys or 'no keys'}")
    return {"maps": "\n".join(lines)}


def places(decoded: Decoded, facts: Facts) -> Parts:
    """Where maps are placed at first, and what else they could be partitioned by."""
    made = _compiled(decoded, facts)
    placed = Placement(made.steps, Lineage(made.steps, facts), {})
    others = [f"{name}: {', '.join(map(show_tag, choices))}" for name, choices in placed.choices.items()]
    return {"maps": _maps(made), "places": "\n".join(show_places(placed.tags)), "choices": "\n".join(others) or "none"}


def moves(decoded: Decoded, facts: Facts) -> Parts:
    """The steps of each term with the moves between them, as cheap as the places of the maps allow."""
    made = _compiled(decoded, facts)
    tags = Placement(made.steps, Lineage(made.steps, facts), {}).tags
    routes = Routes(tags, reorder=True)
    lines = []
    for kept, term in ((step.map, term) for step in made.steps for term in step.terms):
        first, *rest = chain(term)
        (moved, everywhere, early), actions = routes.best(ANYWHERE, routes.number(first.columns), rest, tags[kept.name])
        names = [a.kind if isinstance(a, Spot) else getattr(a.step, "map", type(a.step).__name__) for a in actions]
        lines.append(f"{kept.name} += {' → '.join([_source(first), *names])}")
        lines.append(f"  {moved} moves, {everywhere} of them to every partition; {early} look-ups before their turn")
    return {"places": "\n".join(show_places(tags)), "terms": "\n".join(lines)}


def filled(decoded: Decoded, facts: Facts) -> Parts:
    """How many rows the maps can have, the terms that fill them, and the jobs that these make up."""
    made = _compiled(decoded, facts)
    fill = filling(made, facts.rows)
    sizes = [f"{name}: {rows:,.0f}" for name, rows in most_rows(made, facts.rows).items()]
    terms = [f"{step.map.name} += {_path(term)}" for step in fill.steps for term in step.terms]
    left_out = sum(len(step.terms) for step in made.steps) - len(terms)
    jobs = show_jobs(distribute([fill], facts))
    return {
        "rows at most": "\n".join(sizes),
        f"terms, {left_out} left out": "\n".join(terms),
        "jobs": "\n".join(jobs),
    }


def _path(term: Term) -> str:
    first, *rest = chain(term)
    return " → ".join([_source(first), *(f"{s.map} ({s.version})" for s in rest if isinstance(s, Probe))])


def _source(term: Term) -> str:
    return ", ".join(f"Δ{bag}" for bag in changes_read(term)) or type(term).__name__


def distributed_statements(decoded: Decoded, facts: Facts) -> Parts:
    """The statements with nothing optimized, and with everything but block fusion."""
    made = [_compiled(decoded, facts)]
    well_formed = distribute(made, facts, options=NOTHING)
    optimized = distribute(made, facts, options=replace(Optimizations(), fuse=False))
    return {"well-formed": _statements(well_formed), "optimized": _statements(optimized)}


def _statements(found: Distributed) -> str:
    whole = replace(found, blocks=(Block("workers", found.statements),))
    return "\n".join(line.strip() for line in show_jobs(whole)[2:])


def blocks(decoded: Decoded, facts: Facts) -> Parts:
    """The jobs and stages that the blocks of an epoch make up."""
    made = [_compiled(decoded, facts)]
    before, after = (distribute(made, facts, options=replace(Optimizations(), fuse=fuse)) for fuse in (False, True))
    return {"before": show_blocks(before), "after": show_blocks(after), "jobs": "\n".join(show_jobs(after))}


MODULES: dict[str, Gives] = {
    "abilities": program_on_spark,
    "build": shared,
    "cost": costs,
    "distribute/emit": distributed_statements,
    "distribute/fill": filled,
    "distribute/fuse": blocks,
    "distribute/lineage": domains_of_columns,
    "distribute/place": places,
    "distribute/spots": moves,
    "eviction": evictions,
    "lower": program,
    "options": without_rules,
    "keyed/regroup": program,
    "keyed/regroup_join": program,
    "keyed/sessionize": sessions,
    "keyed/split_aggregate": program,
    "keyed/window_locality": windows,
    "monoid/fold": program,
    "monoid/growth": by_operator(_growth),
    "rewrite/domains": domains,
    "rewrite/running_sums": rewritten(running_sums),
    "rewrite/split_distinct": rewritten(split_distinct),
    "rewrite/split_not_in": rewritten(split_not_in),
    "rewrite/split_or": rewritten(split_or),
    "rewrite/split_sketches": rewritten(split_sketches),
    "ring/calculus": clauses,
    "ring/existence": matchings,
    "ring/factorized_sums": factorized,
    "ring/polynomial": polynomials,
    "ring/split_infinite": finite_parts,
    "ring/fuse_window_sum": program,
    "ring/inequality": inequalities,
    "ring/product": program,
    "ring/route": by_product(_routes),
    "ring/shape": by_product(_shape),
    "ring/sum_aggregate": program,
}
"""Which fixture file is for which module, and what it shows."""
