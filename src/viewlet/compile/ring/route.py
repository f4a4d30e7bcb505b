"""Routes: the order in which a statement looks up the pieces that it joins.

Starting from one factor's delta, the next piece is the one expected to leave the fewest rows: first among those bound
by an equality, then among those within a range.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from viewlet.compile.build import KeptMap
from viewlet.compile.cost import Costs
from viewlet.compile.ring.factorized_sums import FactorShare
from viewlet.compile.ring.shape import Atoms, Range, Shape
from viewlet.plan.expr import Call, Column, Expr, columns_of
from viewlet.plan.types import BOOLEAN, Field
from viewlet.program.access import Match


@dataclass(eq=False)
class Piece:
    """A map for one factor, or for several joined ones."""

    atoms: Atoms
    fields: list[Field]
    share: FactorShare
    windows: frozenset[str] = frozenset()
    """Its columns that say where the limbs of doubles start."""
    indexes: list[tuple[str, ...]] = field(default_factory=list)
    is_read: bool = False
    kept: KeptMap | None = None
    from_sums: bool = False
    """Whether it is read directly from the map of sums behind its factor."""


@dataclass(frozen=True)
class Visit:
    """One look-up of a statement."""

    piece: Piece
    on: tuple[Match, ...]
    tests: tuple[Expr, ...] = ()
    """Equalities that the look-up itself does not check."""
    ranges: tuple[tuple[Range, bool], ...] = ()
    """Inequalities that the look-up checks, each with whether the piece is on the left."""
    adds: bool = False
    """Whether the rows in range are added up and returned as one row."""


class Router:
    """Finds routes, and records how each piece is looked up."""

    def __init__(self, shape: Shape, costs: Costs, leaves: list[Piece]) -> None:
        self.shape, self.costs, self.leaves = shape, costs, leaves
        self.components: dict[Atoms, Piece] = {}
        self.uses: set[tuple[int, Atoms]] = set()
        """Which statements, by factor, read which component as one map."""

    def route(self, start: int, atoms: Atoms) -> list[Visit]:
        """The look-ups of the statement for one factor's delta in the product of `atoms`."""
        todo: list[Piece] = []
        for part in self.shape.parts(atoms - {start}, start):
            if (start, part) in self.uses and part != atoms:
                todo.append(self.components[part])
            else:
                todo += [self.leaves[i] for i in sorted(part)]
        bound, done = {f.name for f in self.leaves[start].fields}, {start}
        route: list[Visit] = []
        while todo:
            best = min((self._visit(p, bound, done) for p in todo), key=lambda v: self._rank(v, done))
            route.append(best)
            todo.remove(best.piece)
            bound |= {f.name for f in best.piece.fields}
            done |= best.piece.atoms
            best.piece.is_read = True
            index = tuple(m.map_column for m in best.on)
            if (index or not best.ranges) and index not in best.piece.indexes:
                best.piece.indexes.append(index)
        return route

    def _rank(self, visit: Visit, done: set[int]) -> tuple[bool, float, bool]:
        rows = 1.0 if visit.adds else self.costs.visit(frozenset(done), visit.piece.atoms)[1]
        return (not visit.on, rows, not visit.ranges)

    def _visit(self, piece: Piece, bound: set[str], done: set[int]) -> Visit:
        own = {f.name: f for f in piece.fields}
        on: dict[str, Match] = {}
        tests: list[Expr] = []
        for variable in self.shape.variables:
            here = next((n for n in variable.values() if n in own), None)
            there = next((n for i, n in variable.items() if n in bound and i in done), None)
            if here is not None and there is not None:
                on[here] = Match(there, here)
        for i, a, j, b in self.shape.null_safe:
            for k, mine, other, theirs in ((i, a, j, b), (j, b, i, a)):
                if k in piece.atoms and other in done:
                    kind = own[mine].type
                    if mine in on:
                        tests.append(Call("eq_null_safe", (Column(theirs, kind), Column(mine, kind)), BOOLEAN))
                    else:
                        on[mine] = Match(theirs, mine, null_safe=True)
        plain = Visit(piece, tuple(on.values()), tuple(tests))
        ranges = self._reachable(piece, done)
        if not ranges:
            return plain
        order = {(r.less if left else r.more).name for r, left in ranges}
        again = self._asked_again(order, [r for r, _ in ranges], done | piece.atoms)
        adds = not own.keys() - on.keys() - order - piece.windows and not again
        return Visit(piece, plain.on, plain.tests, tuple(ranges), adds) if adds or not on else plain

    def _reachable(self, piece: Piece, done: set[int]) -> list[tuple[Range, bool]]:
        """The inequalities between bound columns and one column of a piece: at most one lower and one upper bound."""
        found = [(r, True) for r in self.shape.ranges if r.left in piece.atoms and r.right in done]
        found += [(r, False) for r in self.shape.ranges if r.right in piece.atoms and r.left in done]
        if not found:
            return []
        column = found[0][0].less if found[0][1] else found[0][0].more
        same = [(r, left) for r, left in found if (r.less if left else r.more) == column]
        sides = {left: (r, left) for r, left in reversed(same)}
        return list(sides.values())

    def _asked_again(self, order: set[str], answered: list[Range], done: set[int]) -> bool:
        """Whether the column of a range that was added up is needed later."""
        later = set(self.shape.shown).union(*(columns_of(c) for c in self.shape.residual))
        later |= {n for r in self.shape.ranges if r not in answered for n in (r.less.name, r.more.name)}
        later |= {n for v in self.shape.variables if not set(v) <= done for n in v.values()}
        later |= {n for _, a, _, b in self.shape.null_safe for n in (a, b)}
        return bool(order & later)


Before = tuple[Atoms, Atoms]
"""All of the first factors come before all of the second."""


def are_possible(orders: list[Before], count: int) -> bool:
    """Whether some order of the factors satisfies all constraints."""
    return len(_placed(orders, count)) == count


def ranks(orders: list[Before], count: int) -> list[int]:
    """The position of each factor in an order that satisfies all constraints."""
    placed = _placed(orders, count)
    return [placed.index(i) for i in range(count)]


def _placed(orders: list[Before], count: int) -> list[int]:
    placed: list[int] = []
    while True:
        free = [i for i in range(count) if i not in placed and all(a <= set(placed) for a, b in orders if i in b)]
        if not free:
            return placed
        placed.append(free[0])
