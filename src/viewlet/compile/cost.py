"""The cost and benefit of maps, estimated from what the store knows: sizes, keys, and how often tables change.

The unit is a row that a statement handles; a look-up costs `LOOKUP` rows however little it finds. As in the thesis
(§3.6.4), a map costs what its own statements handle, each as often as its table changes. Estimates only choose between
correct programs, and `explain` shows them.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewlet.compile.options import Facts
from viewlet.compile.ring.calculus import Atom
from viewlet.compile.ring.shape import Shape
from viewlet.plan.expr import Call, Column, Expr
from viewlet.plan.nodes import Aggregate, Plan, Scan, leaves
from viewlet.plan.types import Field

Atoms = frozenset[int]
LOOKUP = 250.0
ROWS = 1000
"""The assumed size of an unknown table."""


class Costs:
    """Estimates for one product."""

    def __init__(self, facts: Facts, shape: Shape) -> None:
        self.facts = facts
        self.variables = [*shape.variables, *({i: a, j: b} for i, a, j, b in shape.null_safe)]
        self.moving = frozenset(shape.starts(shape.everything))
        self.shares = [_selectivity(conditions) for conditions in shape.local]
        self.unfiltered = [max(1.0, self._size(a)) for a in shape.atoms]
        self.sizes = [max(1.0, size * share) for size, share in zip(self.unfiltered, self.shares, strict=True)]
        self.keys = [self._key(a, fields) for a, fields in zip(shape.atoms, shape.fields, strict=True)]
        total = sum(self._rate(a) for a in shape.atoms) or 1.0
        self.rates = [self._rate(a) / total * 100 for a in shape.atoms]

    def _size(self, atom: Atom) -> float:
        if isinstance(atom.label, Aggregate) and not atom.label.keys:
            return 1.0
        sizes = [self.facts.rows.get(t, ROWS) for t in atom.tables]
        return float(max(sizes, default=1))

    def _rate(self, atom: Atom) -> float:
        """The share of a factor in the changed rows; without a history, proportional to its size."""
        if self.facts.rates:
            return sum(self.facts.rates.get(t, 0.0) for t in atom.tables)
        return float(sum(self.facts.rows.get(t, ROWS) for t in atom.tables))

    def _key(self, atom: Atom, fields: dict[Expr, Field]) -> frozenset[str] | None:
        """The leaf's unique columns, if it has all of them."""
        if atom.sums is not None:
            return frozenset(atom.sums.keys)
        wanted = self._unique_columns(atom.label)
        held = {f.name for e, f in fields.items() if isinstance(e, Column)}
        return frozenset(wanted) if wanted and wanted <= held else None

    def _unique_columns(self, plan: Plan) -> set[str]:
        """The keys of an aggregate, or the primary key of a single table; none if unknown."""
        match plan, leaves(plan):
            case Aggregate(keys=keys, results=results), _:
                named = {r.expr: r.name for r in results}
                return {named[k] for k in keys} if all(k in named for k in keys) else set()
            case _, [Scan(name, columns)]:
                return {columns[i].name for i in self.facts.keys.get(name, ())}
            case _:
                return set()

    def fan_out(self, i: int, bound: Atoms) -> float:
        """How many rows of a factor match one row of the bound ones."""
        own = {v[i]: v for v in self.variables if i in v and bound & set(v)}
        if not own:
            return self.sizes[i]
        key = self.keys[i]
        if key is not None and key <= set(own):
            return self.shares[i]
        distinct = 1.0
        for name, variable in own.items():
            partners = [self.unfiltered[k] for k in variable if k != i and self.keys[k] == frozenset([variable[k]])]
            distinct *= min(partners, default=self.sizes[i] ** 0.5) if key != frozenset([name]) else self.sizes[i]
        return max(self.sizes[i] / min(distinct, self.sizes[i]), 0.01)

    def visit(self, start: Atoms, atoms: Atoms) -> tuple[float, float]:
        """The rows handled from one row of `start` through `atoms`, and the rows that come out."""
        rows, handled, bound, todo = 1.0, 0.0, start, set(atoms)
        while todo:
            best = min(todo, key=lambda i: (self.fan_out(i, bound), i))
            rows *= self.fan_out(best, bound)
            handled += rows
            bound |= {best}
            todo.remove(best)
        return handled, rows

    def gain(self, part: Atoms, users: Sequence[int]) -> float:
        """The savings if a component is one map: the look-ups within it."""
        saved = 0.0
        for i in users:
            handled, out = self.visit(frozenset([i]), part)
            connected = any(i in v and part & set(v) for v in self.variables)
            saved += self.rates[i] * max(handled - (out if connected else 1.0), 0.0) + LOOKUP * (len(part) - 1)
        return saved

    def upkeep(self, part: Atoms, exported: int) -> float:
        """The cost of keeping a component: its own statements, and the rows they add."""
        spent = 0.0
        for i in part & self.moving:
            handled, out = self.visit(frozenset([i]), part - {i})
            spent += self.rates[i] * (handled + (out if exported else 1.0)) + LOOKUP * len(part)
        return spent + LOOKUP


def _selectivity(conditions: Sequence[Expr]) -> float:
    share = 1.0
    for condition in conditions:
        match condition:
            case Call("eq" | "starts_with" | "ends_with" | "contains" | "like"):
                share *= 0.1
            case Call("is_not_null"):
                pass
            case _:
                share *= 0.4
    return share


def show_choice(parts: Sequence[Plan], gain: float, upkeep: float, kept: bool) -> str:
    """A decision, for people."""
    names = " ⋈ ".join(_name(p) for p in parts)
    verdict = "kept" if kept else "not kept" if gain <= upkeep else "not kept: no order of the factors allows it"
    return f"{names} as one map: saves {gain:,.0f}, costs {upkeep:,.0f} rows per 100 changed: {verdict}"


def _name(plan: Plan) -> str:
    scans = dict.fromkeys(getattr(leaf, "name", "?") for leaf in leaves(plan))
    return "+".join(scans) or "constants"
