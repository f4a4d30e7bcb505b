"""Products: the viewlet transform of a clause.

    Δ(a₁ ⋈ … ⋈ aₙ) = Σᵢ  a₁ⁿᵉʷ ⋈ … ⋈ aᵢ₋₁ⁿᵉʷ ⋈ Δaᵢ ⋈ aᵢ₊₁ᵒˡᵈ ⋈ … ⋈ aₙᵒˡᵈ

Each factor is kept as a *leaf*: a map of only the columns that the rest needs, filtered and added up, so that its delta
is the batch already filtered, projected and added up. A statement starts from one leaf's delta. Without that leaf the
join falls into components; each is looked up leaf by leaf or, where that pays, as one map of the joined component,
which is maintained in the same way: the delta of the delta.

A component's map is read as a whole, old or new, so the factors are ordered such that all of it comes before or after
the factor whose statement reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from viewlet.compile.build import Builder, KeptMap, compute
from viewlet.compile.cost import Costs, show_choice
from viewlet.compile.ring.calculus import Clause
from viewlet.compile.ring.factorized_sums import FactorizedSums, FactorShare
from viewlet.compile.ring.route import Before, Piece, Router, Visit, are_possible, ranks
from viewlet.compile.ring.shape import Atoms, Outputs, Shape
from viewlet.plan.expr import Column, Expr, columns_of, conjunction, substitute
from viewlet.plan.nodes import Plan, Scan
from viewlet.plan.show import show_node
from viewlet.plan.sums import SLOT, Sum, sum_columns
from viewlet.plan.types import BIGINT, INT, Field, Type
from viewlet.program import access
from viewlet.program.access import Match
from viewlet.program.terms import Combine, Filter, GroupSums, Negate, Probe, Term


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
    """The delta of a product's sums by key, in the form of a map of sums."""
    keys, arguments = ([(f, substitute(e, clause.results)) for f, e in part] for part in (keys, arguments))
    names = tuple(f.name for f, _ in keys)
    if len(clause.atoms) > 1 and build.rules.input_variables:
        product = Product(build, clause, keys, (sums, {f.name: e for f, e in arguments}))
        if product.carry is not None:
            return product.terms()
    rows = _rows_of(build, clause, [*keys, *arguments])
    return tuple(GroupSums(t, names, sums, fields) for t in rows)


def _signed(term: Term, sign: int) -> Term:
    return Negate(term) if sign < 0 else term


def _where(term: Term, conditions: Iterable[Expr]) -> Term:
    condition = conjunction(tuple(conditions))
    return term if condition is None else Filter(term, condition)


class Product:
    """Compiles one clause to maps and statements."""

    def __init__(
        self,
        build: Builder,
        clause: Clause,
        outputs: Outputs,
        summed: tuple[tuple[Sum, ...], dict[str, Expr]] | None = None,
    ) -> None:
        self.build, self.sign = build, clause.sign
        self.shape = Shape(build, clause, outputs)
        self.atoms = self.shape.atoms
        self.carry = None if summed is None else self._factorized(*summed)
        self.leaves = [self._piece(frozenset([i])) for i in range(len(self.atoms))]
        self.costs = Costs(build.facts, self.shape)
        self.router = Router(self.shape, self.costs, self.leaves)
        self.rank = list(range(len(self.atoms)))

    def _factorized(self, sums: tuple[Sum, ...], arguments: dict[str, Expr]) -> FactorizedSums | None:
        return FactorizedSums.of(self.build, self.shape.home, sums, arguments, ranged=bool(self.shape.ranges))

    def _piece(self, atoms: Atoms) -> Piece:
        if self.carry is None:
            share = FactorShare({}, {}, self.build.fresh("w"))
        else:
            share = self.carry.leaf(min(atoms)) if len(atoms) == 1 else self.carry.component(atoms)
        fields = list(self.shape.fields[min(atoms)].values()) if len(atoms) == 1 else self.shape.exported(atoms)
        windows = [] if self.carry is None else self.carry.windows(atoms)
        return Piece(atoms, [*fields, *windows], share, frozenset(f.name for f in windows))

    def terms(self) -> tuple[Term, ...]:
        """The statements, one for each factor that can change."""
        everything, starts = self.shape.everything, self.shape.starts
        if self.build.rules.higher_order:
            self._decide()
        routes = [(i, self.router.route(i, everything)) for i in starts(everything)]
        components = self.router.components
        inner = {c: [(i, self.router.route(i, c)) for i in starts(c)] for c in components}
        for i in everything:
            self._keep_leaf(i)
        for atoms in sorted(components, key=len):
            self._keep_component(atoms, inner[atoms])
        return tuple(self._statement(i, route, everything) for i, route in routes)

    def _decide(self) -> None:
        """Decide which components are estimated to pay, and the order of factors that they require."""
        wanted: dict[Atoms, list[int]] = {}
        for i in self.shape.starts(self.shape.everything):
            for part in self.shape.parts(self.shape.everything - {i}, i):
                if len(part) > 1:
                    wanted.setdefault(part, []).append(i)
        orders: list[Before] = []
        for part in sorted(wanted, key=lambda c: (-self.costs.gain(c, wanted[c]), sorted(c))):
            gain = self.costs.gain(part, wanted[part])
            upkeep = self.costs.upkeep(part, len(self.shape.exported(part)))
            users = self._users(part, wanted[part], orders) if gain > upkeep else []
            labels = [self.atoms[k].label for k in sorted(part)]
            self.build.choices.append(show_choice(labels, gain, upkeep, bool(users)))
            if users:
                self.router.components[part] = self._piece(part)
                self.router.uses |= {(i, part) for i in users}
        self.rank = ranks(orders, len(self.atoms))

    def _users(self, part: Atoms, wanted: list[int], orders: list[Before]) -> list[int]:
        """The factors whose statements can read a component as a whole; adds the orders that this needs to `orders`."""
        users = []
        for i in wanted:
            for order in ((frozenset([i]), part), (part, frozenset([i]))):
                if are_possible([*orders, order], len(self.atoms)):
                    orders.append(order)
                    users.append(i)
                    break
        return users

    def _keep_leaf(self, i: int) -> None:
        piece, atom = self.leaves[i], self.atoms[i]
        if self._reads_sums(i):
            piece.from_sums = True
            assert atom.sums is not None
            for index in piece.indexes:
                self.build.index(atom.sums.kept.name, tuple(atom.sums.own(n) for n in index))
            return
        keys = [(f, e) for e, f in self.shape.fields[i].items()]
        arguments = [] if self.carry is None else self.carry.arguments(i)
        terms = [_where(t, self.shape.local[i]) for t in atom.terms]
        if self.carry is None or not self.carry.sums_of(i):
            terms = [compute(t, keys) for t in terms]
            sums: tuple[str, ...] = ()
        else:
            specs = self.carry.sums_of(i)
            sums = tuple(c for s in specs for c in sum_columns(s))
            windows = self.carry.windows([i])
            fields = (*(f for f, _ in keys), *windows, *(Field(c, BIGINT, False) for c in sums))
            names = tuple(f.name for f, _ in keys)
            terms = [GroupSums(compute(t, [*keys, *arguments]), names, specs, fields) for t in terms]
        piece.kept = self._kept(piece, terms, sums, _label(atom.label))

    def _reads_sums(self, i: int) -> bool:
        """Whether a nested aggregate needs no map but that of its sums: it is looked up by its keys, unfiltered."""
        atom, piece = self.atoms[i], self.leaves[i]
        if (
            atom.sums is None
            or not atom.sums.keys
            or self.shape.local[i]
            or (self.carry is not None and self.carry.sums_of(i))
        ):
            return False
        plain = all(isinstance(e, Column) for e in self.shape.fields[i])
        ranged = any(i in (r.left, r.right) for r in self.shape.ranges)
        return plain and not ranged and all(n in atom.sums.keys for index in piece.indexes for n in index)

    def _kept(self, piece: Piece, terms: Sequence[Term], sums: tuple[str, ...], meaning: str) -> KeptMap:
        key, *others = piece.indexes or [()]
        shown = ", ".join(f.name for f in piece.fields)
        text = f"Sum[{shown}]({meaning})" if sums else f"{meaning} → {shown}"
        return self.build.keep(terms, key, indexes=tuple(others), sums=sums, meaning=text, stored=piece.is_read)

    def _keep_component(self, atoms: Atoms, routes: list[tuple[int, list[Visit]]]) -> None:
        piece = self.router.components[atoms]
        parts = () if self.carry is None else self.carry.parts_of(atoms)
        sums = tuple(c for p in parts for c in p)
        terms = [self._statement(i, route, atoms) for i, route in routes]
        meaning = " ⋈ ".join(_label(self.atoms[i].label) for i in sorted(atoms))
        piece.kept = self._kept(piece, terms, sums, meaning)

    def _statement(self, start: int, route: list[Visit], atoms: Atoms) -> Term:
        """The statement for the delta of one factor, in the product of `atoms` or in the whole clause."""
        first = self.leaves[start]
        term, met = self._start(start), [first]
        pending = [c for c in self.shape.residual if self.shape.of(c) <= atoms]
        ranges = [r for r in self.shape.ranges if {r.left, r.right} <= atoms]
        for visit in route:
            inside = visit.piece.atoms
            pending = [c for c in pending if not self.shape.of(c) <= inside]
            answered = [r for r, _ in visit.ranges]
            ranges = [r for r in ranges if r not in answered and not {r.left, r.right} <= inside]
            term = self._look_up(term, start, visit, atoms)
            met.append(visit.piece)
            there = frozenset(f.name for f in term.columns)
            ready = [*visit.tests]
            ready += [c for c in (*pending, *(r.condition() for r in ranges)) if columns_of(c) <= there]
            term = _where(term, ready)
            pending = [c for c in pending if c not in ready]
            ranges = [r for r in ranges if r.condition() not in ready]
        whole = len(atoms) == len(self.atoms)
        if whole:
            term = _signed(term, self.sign)
        outputs = (
            self.shape.outputs if whole else [(f, Column(f.name, f.type)) for f in self.router.components[atoms].fields]
        )
        if self.carry is None:
            return compute(term, outputs)
        shares = [p.share for p in met]
        parts = self.carry.result(shares, self.sign) if whole else self.carry.inner(atoms, shares)
        doubles = self.carry.doubles(shares, self.sign) if whole else ()
        used = [m for p in parts for m in p.terms] + [m for d in doubles for m in (*d.terms, d.counted)]
        kinds, known = {f.name: f.type for f in term.columns}, {f.name for f, _ in outputs}
        names = dict.fromkeys(n for m in used for n in m.columns if n not in known)
        carried = [(Field(n, kinds[n], False), Column(n, kinds[n])) for n in names]
        slot = [Field(SLOT, INT, False)] if doubles else []
        fields = (*(f for f, _ in outputs), *slot, *(Field(c, BIGINT, False) for p in parts for c in p.columns))
        keys = tuple(f.name for f, _ in outputs)
        return Combine(compute(term, [*outputs, *carried]), keys, parts, fields, doubles)

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
        settled = not piece.atoms & set(self.shape.starts(atoms))  # static: no statement starts there, so old is new
        version = "new" if settled or self.rank[atom] < self.rank[start] else "old"
        weight = piece.share.weight if self.carry is not None else None
        last = () if weight is None else (Field(weight, BIGINT, False),)
        if piece.from_sums:
            held = self.atoms[atom].sums
            assert held is not None
            on = tuple(Match(m.column, held.own(m.map_column), m.null_safe) for m in visit.on)
            take = tuple((held.own(f.name), f.name) for f in piece.fields)
            fields = (*term.columns, *piece.fields, *last)
            return Probe(term, held.kept.name, version, access.Get(on), take, fields, weight, held.sums)
        kept = piece.kept
        assert kept is not None
        on = tuple(Match(m.column, kept.own(m.map_column), m.null_safe) for m in visit.on)
        taken = [f for f in kept.columns if not visit.adds or f not in piece.fields or f.name in piece.windows]
        take = tuple((kept.own(f.name), f.name) for f in taken)
        fields = (*term.columns, *taken, *last)
        if not visit.ranges:
            read = access.Get(on) if on else access.Scan()
            return Probe(term, kept.name, version, read, take, fields, weight)
        known, column, low, high = self._bounds(term, visit)
        fields = (*known.columns, *taken, *last)
        lanes = tuple(kept.own(f.name) for f in taken if f.name in piece.windows) if visit.adds else ()
        within = access.Range(on, kept.own(column), low, high, visit.adds, lanes)
        reached = Probe(known, kept.name, version, within, take, fields, weight)
        if not visit.adds:
            return reached
        alike = [
            (Field(m.map_column, _type_of(term, m.column)), Column(m.column, _type_of(term, m.column)))
            for m in visit.on
        ]
        return compute(reached, [*((f, Column(f.name, f.type)) for f in fields), *alike])

    def _bounds(self, term: Term, visit: Visit) -> tuple[Term, str, tuple[str, bool] | None, tuple[str, bool] | None]:
        """The rows with the columns that bound a range, the range's column, and its lower and upper bound."""
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
                high = (bound.name, not r.is_open)
            else:
                low = (bound.name, not r.is_open)
        known = [(f, Column(f.name, f.type)) for f in term.columns]
        return compute(term, [*known, *more]), column, low, high


def _label(plan: Plan) -> str:
    return plan.name if isinstance(plan, Scan) else show_node(plan)


def _type_of(term: Term, name: str) -> Type:
    return next(f.type for f in term.columns if f.name == name)
