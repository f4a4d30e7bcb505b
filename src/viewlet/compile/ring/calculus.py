"""The calculus: the meaning of a block of operators, as a sum of products.

    block  = Σ clauses
    clause = ± atom ⋈ … ⋈ atom, where conditions hold, {column := expression over the atoms' columns}

An atom is a bag that is maintained on its own: a table, or the result of an operator that is not a product. Filters and
projections become conditions and expressions, inner joins multiply, unions add. The other joins are sums of products,
too, with ∃R the distinct keys of R:

    L ⋉ R = L ⋈ ∃R          L ▷ R = L − L ⋈ ∃R          L ⟕ R = L ⋈ R + L·NULL − (L ⋈ ∃R)·NULL

so the product rule maintains them, without groups or recomputation. With an inequality a < b beside the equalities, a
row has a partner if and only if it matches the group's greatest b: ∃R is then γ[k; max(b)](R).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from viewlet.compile.build import Builder, SumsMap, compute, passing
from viewlet.compile.ring.existence import Matching
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, columns_of, conjuncts, substitute, walk
from viewlet.plan.nodes import Aggregate, Filter, Join, Plan, Project, Scan, Union, column, names
from viewlet.plan.types import BOOLEAN, Field
from viewlet.program.terms import Term

MOST_NODES = 500
"""Expressions are not substituted into others that would get more nodes than this; they are passed on as columns."""
MOST_CLAUSES = 9
"""Products of more clauses than this are not expanded: a sum is kept instead."""


@dataclass(frozen=True, eq=False)
class Atom:
    """A factor: its columns, and the terms of its delta."""

    columns: tuple[Field, ...]
    terms: tuple[Term, ...]
    label: Plan
    tables: frozenset[str]
    """The tables and views that it derives from."""
    sums: SumsMap | None = None
    """The map of sums whose rows are the atom's, if there is one."""


@dataclass(frozen=True)
class Clause:
    """One product of the sum."""

    atoms: tuple[Atom, ...]
    results: dict[str, Expr]
    conditions: tuple[Expr, ...] = ()
    sign: int = 1

    @property
    def home(self) -> dict[str, int]:
        """The number of the factor that each column belongs to."""
        return {f.name: i for i, atom in enumerate(self.atoms) for f in atom.columns}

    def where(self, conditions: Iterable[Expr]) -> Clause:
        """The clause with further conditions over its results."""
        return replace(self, conditions=(*self.conditions, *(substitute(c, self.results) for c in conditions)))

    def times(self, other: Clause) -> Clause:
        return Clause(
            (*self.atoms, *other.atoms),
            self.results | other.results,
            (*self.conditions, *other.conditions),
            self.sign * other.sign,
        )

    def showing(self, results: dict[str, Expr]) -> Clause:
        """The clause with other results, given as expressions over its current ones."""
        return replace(self, results={n: substitute(e, self.results) for n, e in results.items()})

    def negated(self) -> Clause:
        return replace(self, sign=-self.sign)


def in_ring(build: Builder, plan: Plan) -> bool:
    """Whether clauses can express an operator."""
    match plan:
        case Filter(condition=condition):
            return build.is_safe([condition])
        case Project(results=results):
            return build.is_safe(r.expr for r in results)
        case Union():
            return True
        case Join(kind="inner"):
            return build.is_safe(conjuncts(plan.condition))
        case Join():
            if not build.rules.expansion or not build.is_safe(conjuncts(plan.condition)):
                return False
            return Matching.of(plan) is not None
        case _:
            return False


@dataclass
class Expansion:
    """Turns a plan into clauses, and lowers the atoms on the way."""

    build: Builder

    def of(self, plan: Plan) -> tuple[Clause, ...]:
        with self.build.descending():
            if self.build.is_regrouped(plan) or not in_ring(self.build, plan):
                return (self._atom(plan),)
            self.build.note(plan, "ring", self._reason(plan))
            return self._expand(plan)

    def _reason(self, plan: Plan) -> str:
        if (
            isinstance(plan, Join)
            and plan.kind == "inner"
            and not any(_is_equality(plan, c) for c in conjuncts(plan.condition))
        ):
            return "no equality connects the sides"
        if isinstance(plan, Join) and plan.kind != "inner" and (matching := Matching.of(plan)) and matching.inequality:
            return "a row has a partner if it matches the extreme one; when that changes, the rows in between are read"
        return ""

    def _expand(self, plan: Plan) -> tuple[Clause, ...]:
        match plan:
            case Filter(rows, condition):
                return tuple(c.where(conjuncts(condition)) for c in self.of(rows))
            case Project(rows, results):
                clauses = self.of(rows)
                if any(_size(r.expr, c.results) > MOST_NODES for c in clauses for r in results):
                    clauses = (self._kept(rows, clauses),)
                return tuple(c.showing({r.name: r.expr for r in results}) for c in clauses)
            case Union(inputs, columns):
                return tuple(_renamed(c, rows, columns) for rows in inputs for c in self.of(rows))
            case Join(kind="inner"):
                left, right = self._sides(plan.left, plan.right)
                return _product(left, right, conjuncts(plan.condition))
            case Join():
                return self._outer(plan)
        raise AssertionError(f"{plan} is not in the ring")

    def _sides(self, left: Plan, right: Plan) -> tuple[tuple[Clause, ...], tuple[Clause, ...]]:
        """Both sides of a product; a sum is kept as one atom if expanding it is switched off or too much."""
        a, b = self.of(left), self.of(right)
        most = MOST_CLAUSES if self.build.rules.expansion else 1
        if len(a) * len(b) > most and len(a) > 1:
            a = (self._kept(left, a),)
        if len(a) * len(b) > most and len(b) > 1:
            b = (self._kept(right, b),)
        return a, b

    def _kept(self, plan: Plan, clauses: tuple[Clause, ...]) -> Clause:
        """A sum as one atom."""
        fields = passing(plan.columns)
        terms = self.build.lower_clauses(clauses, fields)
        tables = frozenset(t for c in clauses for a in c.atoms for t in a.tables)
        return _clause_of(Atom(plan.columns, terms, plan, tables))

    def _atom(self, plan: Plan) -> Clause:
        if isinstance(plan, Aggregate) and self.build.rules.nested and (made := self.build.keep_sums(plan)):
            return self._sums_atom(plan, *made)
        return _clause_of(Atom(plan.columns, self.build.lower(plan), plan, self.build.tables(plan)))

    def _sums_atom(self, plan: Aggregate, answer: Term, kept: SumsMap) -> Clause:
        """A nested aggregate: its keys and sums are the atom, its results are expressions over them."""
        atom = Atom(answer.columns, (answer,), plan, self.build.tables(plan), kept)
        results = {f.name: e for f, e in zip(plan.columns, kept.results, strict=True)}
        if not self.build.is_safe(results.values()):
            rows = compute(answer, list(zip(plan.columns, kept.results, strict=True)))
            return _clause_of(Atom(plan.columns, (rows,), plan, self.build.tables(plan)))
        return Clause((atom,), results)

    def _outer(self, plan: Join) -> tuple[Clause, ...]:
        """Semi, anti and outer joins, by existence."""
        matching = Matching.of(plan)
        assert matching is not None
        left, lefts = self._settled(plan.left)
        right, rights = self._settled(plan.right, needed=plan.kind in ("left", "right", "full"))
        lefts = lefts if len(lefts) == 1 else (self._kept(left, lefts),)
        if plan.kind in ("semi", "anti", "exists"):
            return self._by_existence(plan, lefts, self._matched(lefts, right, matching))
        rights = rights if len(rights) == 1 else (self._kept(right, rights),)
        clauses = list(_product(lefts, rights, [*matching.connecting, *matching.left, *matching.right]))
        with self.build.quiet():
            if plan.kind in ("left", "full"):
                clauses += _alone(lefts, self._matched(lefts, right, matching), plan.right.columns)
            if plan.kind in ("right", "full"):
                clauses += _alone(rights, self._matched(rights, left, matching.swapped()), plan.left.columns)
        order = [f.name for f in plan.columns]
        return tuple(replace(c, results={n: c.results[n] for n in order}) for c in clauses)

    def _matched(self, rows: tuple[Clause, ...], others: Plan, matching: Matching) -> tuple[Clause, ...]:
        """The rows that have a partner: their product with the partners' distinct keys, or with groups' extremes."""
        for condition in matching.right:
            others = Filter(others, condition)
        keys = tuple(dict.fromkeys(b for _, _, b in matching.pairs))
        inequality = matching.inequality
        results = keys if inequality is None else (*keys, inequality.extreme())
        fields = tuple(Field(self.build.fresh("d"), e.type) for e in results)
        named = tuple(Named(f.name, e) for f, e in zip(fields, results, strict=True))
        exists = self.of(Aggregate(others, keys, named, fields))
        held = {e: column(f) for e, f in zip(results, fields, strict=True)}
        conditions: list[Expr] = [Call(f, (a, held[b]), BOOLEAN) for f, a, b in matching.pairs]
        conditions += [] if inequality is None else [inequality.condition(held[inequality.extreme()])]
        shown = [f.name for f in fields]
        product = _product(rows, exists, [*conditions, *matching.left])
        return tuple(replace(c, results={n: e for n, e in c.results.items() if n not in shown}) for c in product)

    def _by_existence(self, plan: Join, rows: tuple[Clause, ...], matched: tuple[Clause, ...]) -> tuple[Clause, ...]:
        match plan.kind:
            case "semi":
                return matched
            case "anti":
                return (*rows, *(c.negated() for c in matched))
            case _:
                name = plan.columns[-1].name
                yes, no = ({name: Literal(value, BOOLEAN)} for value in (True, False))
                return (
                    *(replace(c, results=c.results | yes) for c in matched),
                    *(replace(c, results=c.results | no) for c in rows),
                    *(replace(c, results=c.results | no).negated() for c in matched),
                )

    def _settled(self, plan: Plan, *, needed: bool = True) -> tuple[Plan, tuple[Clause, ...]]:
        """A plan that may be expanded again, and its clauses if they are needed.

        Maps are shared by both expansions; anything but a scan below filters and projections is passed on as one bag.
        """
        base = plan
        while isinstance(base, Filter | Project) and in_ring(self.build, base) and not self.build.is_regrouped(base):
            base = base.rows
        if isinstance(base, Scan):
            return plan, self.of(plan) if needed else ()
        with self.build.descending():
            self._note_down_to(plan, base)
            given = _over(plan, base, self.build.passed_on(self.build.lower(base), base))
        with self.build.quiet():
            return given, self.of(given) if needed else ()

    def _note_down_to(self, top: Plan, base: Plan) -> None:
        """Note that the filters and projections above an operator are in the ring."""
        while top is not base:
            assert isinstance(top, Filter | Project)
            self.build.note(top, "ring")
            top = top.rows


def _over(plan: Plan, base: Plan, given: Plan) -> Plan:
    """The same filters and projections over another plan."""
    if plan is base:
        return given
    assert isinstance(plan, Filter | Project)
    return replace(plan, rows=_over(plan.rows, base, given))


def _is_equality(plan: Join, condition: Expr) -> bool:
    left, right = frozenset(names(plan.left)), frozenset(names(plan.right))
    match condition:
        case Call("eq" | "eq_null_safe", (a, b)):
            here, there = columns_of(a), columns_of(b)
            return bool(here and there) and ((here <= left and there <= right) or (here <= right and there <= left))
    return False


def _size(expr: Expr, known: dict[str, Expr]) -> int:
    """The size of an expression after its columns are substituted."""
    held = [known[part.name] for part in walk(expr) if isinstance(part, Column)]
    return sum(1 for _ in walk(expr)) + sum(sum(1 for _ in walk(e)) for e in held)


def _clause_of(atom: Atom) -> Clause:
    return Clause((atom,), {f.name: column(f) for f in atom.columns})


def _renamed(clause: Clause, rows: Plan, columns: tuple[Field, ...]) -> Clause:
    return clause.showing({new.name: column(old) for new, old in zip(columns, rows.columns, strict=True)})


def _product(left: tuple[Clause, ...], right: tuple[Clause, ...], conditions: Iterable[Expr]) -> tuple[Clause, ...]:
    conditions = list(conditions)
    return tuple(a.times(b).where(conditions) for a in left for b in right)


def _alone(rows: tuple[Clause, ...], matched: tuple[Clause, ...], padded: tuple[Field, ...]) -> list[Clause]:
    """The rows without a partner, with NULLs for the columns of the other side."""
    nothing: dict[str, Expr] = {f.name: Literal(None, f.type) for f in padded}
    return [replace(c, results=c.results | nothing) for c in (*rows, *(c.negated() for c in matched))]
