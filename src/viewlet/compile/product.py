"""Products: the viewlet transform of a clause.

    Δ(a₁ ⋈ … ⋈ aₙ) = Σᵢ  a₁ⁿᵉʷ ⋈ … ⋈ aᵢ₋₁ⁿᵉʷ ⋈ Δaᵢ ⋈ aᵢ₊₁ᵒˡᵈ ⋈ … ⋈ aₙᵒˡᵈ

Each factor is kept as a *leaf*: a map of just the columns that the rest needs, filtered, its values added up, so that
its delta is the batch already filtered, projected and added up. A statement starts from one leaf's delta. What is
left of the join then falls into components; each is looked up leaf by leaf, or, where that pays, as one map of the
joined component, which is maintained in the same way: the delta of the delta.

A component's map is read as a whole, old or new, so the factors are put in an order in which all of it comes before or
after the factor whose statement reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from viewlet.compile.build import Builder, Kept, comparable, compute
from viewlet.compile.calculus import Atom, Clause
from viewlet.compile.carry import Carry, Share
from viewlet.compile.cost import Costs, show_choice
from viewlet.compile.inequality import isolate
from viewlet.plan.expr import Call, Column, Expr, Literal, columns_of, conjunction, rewrite, substitute
from viewlet.plan.nodes import Plan, Scan
from viewlet.plan.show import show_node
from viewlet.plan.types import BIGINT, BOOLEAN, Field, Type
from viewlet.program.same import identity
from viewlet.program.sums import Sum, sum_columns
from viewlet.program.terms import Combine, Match, Negate, Probe, Reach, Select, Term, Total

Outputs = Sequence[tuple[Field, Expr]]
Atoms = frozenset[int]


def lower_clauses(build: Builder, clauses: Sequence[Clause], outputs: Outputs) -> tuple[Term, ...]:
    """The delta of a sum of products: rows of the outputs, which are expressions over the clauses' results."""
    return tuple(t for c in clauses for t in _rows_of(build, c, [(f, substitute(e, c.results)) for f, e in outputs]))


def _rows_of(build: Builder, clause: Clause, outputs: Outputs) -> tuple[Term, ...]:
    if len(clause.atoms) == 1:
        terms = [_where(t, clause.conditions) for t in clause.atoms[0].terms]
        return tuple(compute(_signed(t, clause.sign), outputs) for t in terms)
    return Product(build, clause, outputs).terms()


def lower_sums(
    build: Builder, clause: Clause, keys: Outputs, arguments: Outputs, sums: tuple[Sum, ...], fields: tuple[Field, ...]
) -> tuple[Term, ...]:
    """The delta of a product's sums by key, as a map of sums takes it."""
    keys, arguments = ([(f, substitute(e, clause.results)) for f, e in part] for part in (keys, arguments))
    names = tuple(f.name for f, _ in keys)
    if len(clause.atoms) > 1 and build.rules.input_variables:
        product = Product(build, clause, keys, (sums, {f.name: e for f, e in arguments}))
        if product.carry is not None:
            return product.terms()
    rows = _rows_of(build, clause, [*keys, *arguments])
    return tuple(Total(t, names, sums, fields) for t in rows)


def _signed(term: Term, sign: int) -> Term:
    return Negate(term) if sign < 0 else term


def _where(term: Term, conditions: Iterable[Expr]) -> Term:
    condition = conjunction(tuple(conditions))
    return term if condition is None else Select(term, condition)


@dataclass(frozen=True, slots=True)
class Range:
    """`less + offset < more`, or `<=`: columns of the leaves of two factors."""

    left: int
    less: Column
    right: int
    more: Column
    strict: bool
    offset: Literal | None

    def condition(self) -> Expr:
        return Call("lt" if self.strict else "le", (self.bound(below=True), self.more), BOOLEAN)

    def bound(self, *, below: bool) -> Expr:
        """What bounds `more` from below, or `less` from above."""
        known = self.less if below else self.more
        if self.offset is None:
            return known
        return Call("add" if below else "subtract", (known, self.offset), known.type)


@dataclass(eq=False)
class Piece:
    """A map that stands for one factor, or for several joined ones."""

    atoms: Atoms
    fields: list[Field]
    share: Share
    indexes: list[tuple[str, ...]] = field(default_factory=list)
    is_read: bool = False
    kept: Kept | None = None
    from_sums: bool = False
    """Whether it is read straight from the map of sums behind its factor."""


@dataclass(frozen=True)
class Visit:
    """One look-up of a statement."""

    piece: Piece
    on: tuple[Match, ...]
    ranges: tuple[tuple[Range, bool], ...] = ()
    """Inequalities that the look-up answers; whether the piece is on the left of each."""
    adds: bool = False


class Product:
    """One clause on its way to maps and statements."""

    def __init__(
        self,
        build: Builder,
        clause: Clause,
        outputs: Outputs,
        summed: tuple[tuple[Sum, ...], dict[str, Expr]] | None = None,
    ) -> None:
        self.build, self.sign = build, clause.sign
        # In an order that does not depend on how the join was written, so that maps are found to be the same.
        self.atoms = sorted(clause.atoms, key=lambda a: (not self._is_static(a), repr(identity(a.terms, ()))))
        self.home = {f.name: i for i, a in enumerate(self.atoms) for f in a.columns}
        self.local: list[list[Expr]] = [[] for _ in self.atoms]
        self.fields: list[dict[Expr, Field]] = [{} for _ in self.atoms]
        self.variables: list[dict[int, str]] = []
        self.null_safe: list[tuple[int, str, int, str]] = []
        self.ranges: list[Range] = []
        self.residual: list[Expr] = []
        self._conditions(clause.conditions)
        self.outputs = [(f, self._localized(e)) for f, e in outputs]
        self.carry = None if summed is None else Carry.of(build, self.home, *summed)
        self.shown = frozenset(n for _, e in self.outputs for n in columns_of(e))
        self.leaves = [self._leaf(i) for i in range(len(self.atoms))]
        moving = self._starts(frozenset(range(len(self.atoms))))
        self.costs = Costs(build.facts, self.atoms, self.variables, self.fields, self.local, moving)
        self.components: dict[Atoms, Piece] = {}
        self.uses: set[tuple[int, Atoms]] = set()
        self.rank = list(range(len(self.atoms)))

    def _is_static(self, atom: Atom) -> bool:
        return bool(atom.tables) and atom.tables <= self.build.facts.static

    # -- what each factor must keep ------------------------------------------------------------------------------

    def _conditions(self, conditions: Iterable[Expr]) -> None:
        equal: list[tuple[int, Expr, int, Expr]] = []
        for condition in conditions:
            homes = self._homes(condition)
            match condition:
                case _ if len(homes) <= 1:
                    self.local[min(homes, default=0)].append(condition)
                case Call("eq" | "eq_null_safe" as function, (a, b)) if len(self._homes(a)) == len(self._homes(b)) == 1:
                    (i,), (j,) = self._homes(a), self._homes(b)
                    if function == "eq":
                        equal.append((i, comparable(a), j, comparable(b)))
                    else:
                        self.null_safe.append((i, self._field(i, comparable(a)), j, self._field(j, comparable(b))))
                case _ if (found := isolate(self.build, self.home, condition)) is not None:
                    less = Column(self._field(found.left, found.less), found.less.type)
                    more = Column(self._field(found.right, found.more), found.more.type)
                    self.ranges.append(Range(found.left, less, found.right, more, found.strict, found.offset))
                case _:
                    self.residual.append(condition)
        self._unify(equal)
        self.residual = [self._localized(c) for c in self.residual]

    def _unify(self, equal: list[tuple[int, Expr, int, Expr]]) -> None:
        """Columns that are equal are one variable; two of one factor are compared within it."""
        groups: list[set[tuple[int, Expr]]] = []
        for i, a, j, b in equal:
            met = [g for g in groups if (i, a) in g or (j, b) in g]
            groups = [g for g in groups if g not in met] + [{(i, a), (j, b)}.union(*met)]
        for group in groups:
            variable: dict[int, str] = {}
            for i, e in sorted(group, key=repr):
                if i in variable:
                    first = next(k for k, f in self.fields[i].items() if f.name == variable[i])
                    self.local[i].append(Call("eq", (first, e), BOOLEAN))
                else:
                    variable[i] = self._field(i, e)
            self.variables.append(variable)

    def _homes(self, expr: Expr) -> frozenset[int]:
        return frozenset(self.home[n] for n in columns_of(expr))

    def _field(self, i: int, expr: Expr) -> str:
        """The column of a leaf that holds an expression."""
        fields = self.fields[i]
        if expr not in fields:
            name = expr.name if isinstance(expr, Column) else self.build.fresh("e")
            fields[expr] = Field(name, expr.type)
        return fields[expr].name

    def _localized(self, expr: Expr) -> Expr:
        """An expression over leaves' columns: what reads a single factor is computed there."""

        def local(e: Expr) -> Expr | None:
            homes = self._homes(e)
            if len(homes) != 1 or isinstance(e, Literal):
                return None
            return Column(self._field(min(homes), e), e.type)

        return rewrite(expr, local)

    def _leaf(self, i: int) -> Piece:
        share = Share({}, {}, self.build.fresh("w")) if self.carry is None else self.carry.leaf(i)
        return Piece(frozenset([i]), list(self.fields[i].values()), share)

    # -- which maps to keep --------------------------------------------------------------------------------------

    def terms(self) -> tuple[Term, ...]:
        """The statements, one for each factor that can change."""
        everything = frozenset(range(len(self.atoms)))
        if self.build.rules.higher_order:
            self._decide(everything)
        starts = self._starts(everything)
        routes = [self._route(i, everything) for i in starts]
        inner = {c: [(i, self._route(i, c)) for i in self._starts(c)] for c in self.components}
        for i in everything:
            self._keep_leaf(i)
        for atoms in sorted(self.components, key=len):
            self._keep_component(atoms, inner[atoms])
        return tuple(self._statement(i, route, everything) for i, route in zip(starts, routes, strict=True))

    def _is_settled(self, piece: Atoms, atoms: Atoms) -> bool:
        """Whether no statement for some factors starts from a piece of them, because it is static; then old is new."""
        starts = self._starts(atoms)
        return not any(i in starts for i in piece)

    def _starts(self, atoms: Atoms) -> list[int]:
        moving = [i for i in sorted(atoms) if not self._is_static(self.atoms[i])]
        return moving or sorted(atoms)

    def _decide(self, everything: Atoms) -> None:
        """Which components to keep, by what is estimated to pay, and the order of factors that this takes."""
        costs = self.costs
        wanted: dict[Atoms, list[int]] = {}
        for i in self._starts(everything):
            for part in self._parts(everything - {i}, i):
                if len(part) > 1:
                    wanted.setdefault(part, []).append(i)
        orders: list[tuple[Atoms, Atoms]] = []
        for part in sorted(wanted, key=lambda c: (-costs.gain(c, wanted[c]), sorted(c))):
            gain, upkeep = costs.gain(part, wanted[part]), costs.upkeep(part, len(self._exported(part)))
            pays = gain > upkeep and len(orders) < 64
            users = []
            for i in wanted[part] if pays else ():
                one = frozenset([i])
                before = next((o for o in ((one, part), (part, one)) if _is_order([*orders, o], len(self.atoms))), None)
                if before is not None:
                    orders.append(before)
                    users.append(i)
            self.build.choices.append(
                show_choice([self.atoms[k].label for k in sorted(part)], gain, upkeep, bool(users))
            )
            if users:
                self.components[part] = self._component(part)
                self.uses |= {(i, part) for i in users}
        self.rank = _ranks(orders, len(self.atoms))

    def _parts(self, rest: Atoms, start: int) -> list[Atoms]:
        """What a delta of one factor leaves of the others, in connected parts."""
        if not self.build.rules.decomposition:
            return [rest]
        groups = [frozenset(v) & rest for v in self.variables if start not in v]
        groups += [frozenset([i, j]) & rest for i, _, j, _ in self.null_safe]
        groups += [frozenset([r.left, r.right]) & rest for r in self.ranges]
        groups += [self._of(c) & rest for c in self.residual if start not in self._of(c)]
        parts: list[Atoms] = [frozenset([i]) for i in rest]
        for group in groups:
            met = [p for p in parts if p & group]
            parts = [p for p in parts if p not in met] + ([frozenset().union(*met)] if met else [])
        return sorted(parts, key=sorted)

    def _of(self, condition: Expr) -> Atoms:
        """The factors whose leaves' columns a condition reads."""
        owner = {f.name: i for i, fields in enumerate(self.fields) for f in fields.values()}
        return frozenset(owner[n] for n in columns_of(condition))

    def _component(self, atoms: Atoms) -> Piece:
        assert self.leaves
        share = Share({}, {}, self.build.fresh("w")) if self.carry is None else self.carry.component(atoms)
        return Piece(atoms, self._exported(atoms), share)

    def _exported(self, atoms: Atoms) -> list[Field]:
        """The columns of a component that the rest needs."""
        needed = set(self.shown)
        for variable in self.variables:
            inside = [n for i, n in variable.items() if i in atoms]
            if inside and not set(variable) <= atoms:
                needed.add(inside[0])
        for i, a, j, b in self.null_safe:
            needed |= {n for k, n, other in ((i, a, j), (j, b, i)) if k in atoms and other not in atoms}
        for r in self.ranges:
            if not {r.left, r.right} <= atoms:
                needed |= {r.less.name, r.more.name}
        for condition in self.residual:
            if not self._of(condition) <= atoms:
                needed |= columns_of(condition)
        return [f for i in sorted(atoms) for f in self.fields[i].values() if f.name in needed]

    # -- in which order a statement looks things up --------------------------------------------------------------

    def _route(self, start: int, atoms: Atoms) -> list[Visit]:
        """The look-ups of a statement, those first that are bound the most."""
        todo: list[Piece] = []
        for part in self._parts(atoms - {start}, start):
            if (start, part) in self.uses and part != atoms:
                todo.append(self.components[part])
            else:
                todo += [self.leaves[i] for i in sorted(part)]
        bound = {f.name for f in self.leaves[start].fields}
        done: set[int] = {start}
        route: list[Visit] = []
        while todo:
            visits = [self._visit(p, bound, done, todo) for p in todo]
            best = min(
                visits, key=lambda v: (not v.on, not v.ranges, self.costs.visit(frozenset(done), v.piece.atoms)[1])
            )
            route.append(best)
            todo.remove(best.piece)
            bound |= {f.name for f in best.piece.fields}
            done |= best.piece.atoms
            self._index(best)
        return route

    def _index(self, visit: Visit) -> None:
        piece, index = visit.piece, tuple(m.map_column for m in visit.on)
        piece.is_read = True
        if not visit.ranges and index not in piece.indexes:
            piece.indexes.append(index)

    def _visit(self, piece: Piece, bound: set[str], done: set[int], todo: list[Piece]) -> Visit:
        own = {f.name for f in piece.fields}
        on: dict[str, Match] = {}
        for variable in self.variables:
            here = next((n for i, n in variable.items() if n in own), None)
            there = next((n for i, n in variable.items() if n in bound and i in done), None)
            if here is not None and there is not None:
                on[here] = Match(there, here)
        for i, a, j, b in self.null_safe:
            for k, mine, other, theirs in ((i, a, j, b), (j, b, i, a)):
                if k in piece.atoms and other in done and mine not in on:
                    on[mine] = Match(theirs, mine, null_safe=True)
        ranges = self._reachable(piece, done)
        if not ranges:
            return Visit(piece, tuple(on.values()))
        order = {(r.less if left else r.more).name for r, left in ranges}
        rest = own - set(on) - order
        again = self._asked_again(order, [r for r, _ in ranges], done | piece.atoms)
        adds = not rest and not again
        if not adds and on:
            return Visit(piece, tuple(on.values()))
        return Visit(piece, tuple(on.values()), tuple(ranges), adds)

    def _reachable(self, piece: Piece, done: set[int]) -> list[tuple[Range, bool]]:
        """The inequalities between what is bound and one column of a piece: at most a lower and an upper bound."""
        found = [(r, True) for r in self.ranges if r.left in piece.atoms and r.right in done]
        found += [(r, False) for r in self.ranges if r.right in piece.atoms and r.left in done]
        if not found:
            return []
        column = found[0][0].less if found[0][1] else found[0][0].more
        same = [(r, left) for r, left in found if (r.less if left else r.more) == column]
        sides = {left: (r, left) for r, left in reversed(same)}
        return list(sides.values())

    def _asked_again(self, order: set[str], answered: list[Range], done: set[int]) -> bool:
        """Whether the column of a range that was added up is needed later on."""
        later = set(self.shown).union(*(columns_of(c) for c in self.residual))
        later |= {n for r in self.ranges if r not in answered for n in (r.less.name, r.more.name)}
        later |= {n for v in self.variables if not set(v) <= done for n in v.values()}
        later |= {n for _, a, _, b in self.null_safe for n in (a, b)}
        return bool(order & later)

    # -- maps and statements -------------------------------------------------------------------------------------

    def _keep_leaf(self, i: int) -> None:
        piece, atom = self.leaves[i], self.atoms[i]
        if self._reads_sums(i):
            piece.from_sums = True
            assert atom.sums is not None
            for index in piece.indexes:
                self.build.index(atom.sums.kept.name, tuple(atom.sums.own(n) for n in index))
            return
        keys = [(f, e) for e, f in self.fields[i].items()]
        arguments = [] if self.carry is None else self.carry.arguments(i)
        terms = [_where(t, self.local[i]) for t in atom.terms]
        if self.carry is None or not self.carry.sums_of(i):
            terms = [compute(t, keys) for t in terms]
            sums: tuple[str, ...] = ()
        else:
            specs = self.carry.sums_of(i)
            sums = tuple(c for s in specs for c in sum_columns(s))
            fields = (*(f for f, _ in keys), *(Field(c, BIGINT, False) for c in sums))
            names = tuple(f.name for f, _ in keys)
            terms = [Total(compute(t, [*keys, *arguments]), names, specs, fields) for t in terms]
        piece.kept = self._kept(piece, terms, sums, _label(atom.label))

    def _reads_sums(self, i: int) -> bool:
        """Whether a nested aggregate needs no map but that of its sums: it is looked up by its keys, unfiltered."""
        atom, piece = self.atoms[i], self.leaves[i]
        if atom.sums is None or self.local[i] or (self.carry is not None and self.carry.sums_of(i)):
            return False
        plain = all(isinstance(e, Column) for e in self.fields[i])
        ranged = any(i in (r.left, r.right) for r in self.ranges)
        return plain and not ranged and all(n in atom.sums.keys for index in piece.indexes for n in index)

    def _kept(self, piece: Piece, terms: Sequence[Term], sums: tuple[str, ...], meaning: str) -> Kept:
        key, *others = piece.indexes or [()]
        shown = ", ".join(f.name for f in piece.fields)
        text = f"Sum[{shown}]({meaning})" if sums else f"{meaning} → {shown}"
        return self.build.keep(terms, key, indexes=tuple(others), sums=sums, meaning=text, stored=piece.is_read)

    def _keep_component(self, atoms: Atoms, routes: list[tuple[int, list[Visit]]]) -> None:
        piece = self.components[atoms]
        parts = () if self.carry is None else self.carry.parts_of(atoms)
        sums = tuple(c for p in parts for c in p)
        terms = [self._statement(i, route, atoms) for i, route in routes]
        meaning = " ⋈ ".join(_label(self.atoms[i].label) for i in sorted(atoms))
        piece.kept = self._kept(piece, terms, sums, meaning)

    def _statement(self, start: int, route: list[Visit], atoms: Atoms) -> Term:
        """What a delta of one factor means for the product of some, or for the whole clause."""
        first = self.leaves[start]
        term, met = self._start(start), [first]
        pending = [c for c in self.residual if self._of(c) <= atoms]
        ranges = [r for r in self.ranges if {r.left, r.right} <= atoms]
        for visit in route:
            inside = visit.piece.atoms
            pending = [c for c in pending if not self._of(c) <= inside]
            answered = [r for r, _ in visit.ranges]
            ranges = [r for r in ranges if r not in answered and not {r.left, r.right} <= inside]
            term = self._look_up(term, start, visit, atoms)
            met.append(visit.piece)
            there = frozenset(f.name for f in term.columns)
            ready = [c for c in (*pending, *(r.condition() for r in ranges)) if columns_of(c) <= there]
            term = _where(term, ready)
            pending = [c for c in pending if c not in ready]
            ranges = [r for r in ranges if r.condition() not in ready]
        whole = len(atoms) == len(self.atoms)
        if whole:
            term = _signed(term, self.sign)
        outputs = self.outputs if whole else [(f, Column(f.name, f.type)) for f in self.components[atoms].fields]
        if self.carry is None:
            return compute(term, outputs)
        shares = [p.share for p in met]
        parts = self.carry.result(shares, self.sign) if whole else self.carry.inner(atoms, shares)
        used = tuple(dict.fromkeys(n for p in parts for m in p.terms for f in m.factors for n in f.columns))
        carried = [(Field(n, BIGINT, False), Column(n, BIGINT)) for n in used]
        fields = (*(f for f, _ in outputs), *(Field(c, BIGINT, False) for p in parts for c in p.columns))
        return Combine(compute(term, [*outputs, *carried]), tuple(f.name for f, _ in outputs), parts, fields)

    def _start(self, i: int) -> Term:
        piece = self.leaves[i]
        if piece.from_sums:
            (answer,) = self.atoms[i].terms
            rows = compute(answer, [(f, Column(f.name, f.type)) for f in piece.fields])
            if self.carry is None:
                return rows
            fields = tuple(f.name for f in piece.fields)
            return self.build.keep([rows], fields, meaning="its delta", stored=False).change(piece.share.weight)
        assert piece.kept is not None
        return piece.kept.change(piece.share.weight if self.carry is not None else None)

    def _look_up(self, term: Term, start: int, visit: Visit, atoms: Atoms) -> Term:
        piece = visit.piece
        atom = min(piece.atoms)
        version = "new" if self._is_settled(piece.atoms, atoms) or self.rank[atom] < self.rank[start] else "old"
        weight = piece.share.weight if self.carry is not None else None
        last = () if weight is None else (Field(weight, BIGINT, False),)
        if piece.from_sums:
            held = self.atoms[atom].sums
            assert held is not None
            on = tuple(Match(m.column, held.own(m.map_column), m.null_safe) for m in visit.on)
            take = tuple((held.own(f.name), f.name) for f in piece.fields)
            fields = (*term.columns, *piece.fields, *last)
            return Probe(term, held.kept.name, version, on, take, fields, weight, held.sums)
        kept = piece.kept
        assert kept is not None
        on = tuple(Match(m.column, kept.own(m.map_column), m.null_safe) for m in visit.on)
        taken = [f for f in kept.columns if not visit.adds or f not in piece.fields]
        take = tuple((kept.own(f.name), f.name) for f in taken)
        fields = (*term.columns, *taken, *last)
        if not visit.ranges:
            return Probe(term, kept.name, version, on, take, fields, weight)
        known, column, low, high = self._bounds(term, visit)
        fields = (*known.columns, *taken, *last)
        reached = Reach(known, kept.name, version, on, kept.own(column), low, high, visit.adds, take, fields, weight)
        if not visit.adds:
            return reached
        alike = [
            (Field(m.map_column, _type_of(term, m.column)), Column(m.column, _type_of(term, m.column)))
            for m in visit.on
        ]
        return compute(reached, [*((f, Column(f.name, f.type)) for f in fields), *alike])

    def _bounds(self, term: Term, visit: Visit) -> tuple[Term, str, tuple[str, bool] | None, tuple[str, bool] | None]:
        """The rows with what bounds a range, the column that it ranges over, and its lower and upper bound."""
        low = high = None
        column = ""
        more: list[tuple[Field, Expr]] = []
        for r, left in visit.ranges:
            column = (r.less if left else r.more).name
            bound = r.bound(below=not left)
            if not isinstance(bound, Column):
                more.append((Field(self.build.fresh("b"), bound.type), bound))
                bound = Column(more[-1][0].name, bound.type)
            if left:
                high = (bound.name, not r.strict)
            else:
                low = (bound.name, not r.strict)
        known = [(f, Column(f.name, f.type)) for f in term.columns]
        return compute(term, [*known, *more]), column, low, high


def _label(plan: Plan) -> str:
    return plan.name if isinstance(plan, Scan) else show_node(plan)


def _type_of(term: Term, name: str) -> Type:
    return next(f.type for f in term.columns if f.name == name)


def _is_order(orders: list[tuple[Atoms, Atoms]], count: int) -> bool:
    """Whether factors can be put in an order in which all of each first set come before all of the second."""
    return len(_sorted(orders, count)) == count


def _ranks(orders: list[tuple[Atoms, Atoms]], count: int) -> list[int]:
    placed = _sorted(orders, count)
    return [placed.index(i) for i in range(count)]


def _sorted(orders: list[tuple[Atoms, Atoms]], count: int) -> list[int]:
    placed: list[int] = []
    while True:
        free = [i for i in range(count) if i not in placed and all(a <= set(placed) for a, b in orders if i in b)]
        if not free:
            return placed
        placed.append(free[0])
