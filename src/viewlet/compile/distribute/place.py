"""Placing maps: on the driver, on every partition, or partitioned by a column.

As in the thesis (§5.5), a map is partitioned by a table's key among its columns, preferring the largest table. A small
map is on the driver if nothing distributed reads it, and otherwise on every partition. Maps read by a function over
groups are partitioned by group. Where statements leave a choice, `distribute` tries the alternatives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from viewlet.compile.distribute.lineage import Lineage
from viewlet.plan.expr import Column
from viewlet.plan.nodes import Aggregate, Filter, Input, Join, Plan, Project, Top, Window
from viewlet.program.chain import chain, changes_read, maps_read, source
from viewlet.program.distributed import Local, Partitioned, Replicated, Tag
from viewlet.program.program import Map, Step
from viewlet.program.terms import (
    KEY,
    Change,
    FinalizeSums,
    Fold,
    Probe,
    Regroup,
    Sessionize,
    Term,
    TopK,
)

SMALL = 100_000
"""The most rows of a small map."""

Names = tuple[str, ...]


class Placement:
    """The tags of the maps of some steps, and the alternatives for each."""

    def __init__(self, steps: Sequence[Step], lineage: Lineage, given: Mapping[str, Tag]) -> None:
        self.steps, self.lineage, self.fixed = steps, lineage, given
        self.maps = {s.map.name: s.map for s in steps}
        self.group_keys = self._group_keys()
        self.floating = self._floating()
        small = self._small()
        local = self._local(small)
        self.tags: dict[str, Tag] = {}
        self.choices: dict[str, tuple[Tag, ...]] = {}
        for step in steps:
            self._place(step, small, local)

    def _place(self, step: Step, small: set[str], local: set[str]) -> None:
        name = step.map.name
        if name in self.fixed:
            self.tags[name] = self.fixed[name]
        elif name in self.floating:
            return
        elif name in small:
            self.tags[name] = Local() if name in local else Replicated()
            if name not in local and name not in self.group_keys and grouped(step) is None:
                self.choices[name] = (Replicated(), *self._large_keys(step.map))
        elif (term := grouped(step)) is not None:
            self.tags[name] = self._with_groups(term, self.tags)
        elif name in self.group_keys:
            self.tags[name] = Partitioned(self.group_keys[name])
        else:
            self.choices[name] = self._candidates(step.map)
            self.tags[name] = self.choices[name][0]

    def why_not(self, name: str, tag: Tag) -> str | None:
        """Why a map cannot be placed at a tag; None if it can."""
        if name in self.group_keys or any(name == made for made, _ in self._grouped()):
            return f"{name} is with the groups that it is read or made by"
        if name in self.floating:
            return f"{name} is not stored"
        if any(isinstance(t, TopK) for target, t in self._terms() if target == name):
            return f"{name} is one order of all rows, which the driver keeps"
        allowed = self._allowed(self.maps[name])
        if isinstance(tag, Partitioned) and not set(tag.columns) <= set(allowed):
            return f"{name} can be partitioned by {', '.join(allowed) or 'nothing'}"
        return None

    def along(self, name: str, tag: Tag) -> dict[str, Tag]:
        """A map with another tag, together with the maps made of its delta that can be partitioned alike."""
        found = {name: tag}
        for step in self.steps:
            own = step.map.name
            if own not in found and any(bag in found for term in step.terms for bag in changes_read(term)):
                alike = [c for c in self.choices.get(own, ()) if self._domain(own, c) == self._domain(name, tag)]
                if alike:
                    found[own] = alike[0]
        return found

    def _domain(self, name: str, tag: Tag) -> object:
        return self.lineage.domain(name, tag.columns[0]) if isinstance(tag, Partitioned) and tag.columns else None

    def _terms(self) -> Iterable[tuple[str, Term]]:
        return ((step.map.name, term) for step in self.steps for term in step.terms)

    def _floating(self) -> set[str]:
        """Maps that are only deltas, and may be wherever their statements leave them."""
        read_whole = {b for _, t in self._terms() if not isinstance(source(t), Change) for b in changes_read(t)}
        return {n for n, m in self.maps.items() if not m.stored and n not in read_whole and n not in self.fixed}

    def _small(self) -> set[str]:
        """The maps estimated to be small; a function over groups has all of its maps small, or none."""
        found = {name for name, rows in self.lineage.rows.items() if rows <= SMALL}
        families = [{*(i.map for i in t.inputs), name} for name, t in self._grouped()]
        while any(family & found and not family <= found for family in families):
            found -= {name for family in families if not family <= found for name in family}
        return found

    def _local(self, small: set[str]) -> set[str]:
        """The small maps that nothing distributed reads, and those that only the driver can make."""
        forced = {name for name, t in self._terms() if isinstance(t, TopK)}
        local = {n for n in small if not isinstance(self.fixed.get(n, Local()), Partitioned | Replicated)} | forced
        changed = True
        while changed:
            changed = False
            for target, term in self._terms():
                read = {b for b in (*changes_read(term), *(n for n, _ in maps_read(term))) if b in self.maps}
                if is_driven(term) or self._is_local(target, term, read, local):
                    continue
                changed |= bool(read & local - forced)
                local -= read - forced
        return local

    def _is_local(self, target: str, term: Term, read: set[str], local: set[str]) -> bool:
        starts_outside = any(b not in self.maps for b in changes_read(term))
        probes = any(isinstance(s, Probe) for s in chain(term))
        return target in local and read <= local and not (starts_outside and probes)

    def _grouped(self) -> list[tuple[str, Regroup]]:
        return [(s.map.name, t) for s in self.steps if (t := grouped(s)) is not None]

    def _group_keys(self) -> dict[str, Names]:
        """The partitioning of maps read by functions over groups: by the group's key.

        A map grouped by different keys in two functions is on a single partition, together with their other inputs.
        """
        families = [{i.map: i.key for i in term.inputs} for _, term in self._grouped()]
        found = {name: key for family in families for name, key in family.items()}
        while apart := [
            f for f in families if any(f.values()) and {n: found[n] for n in f} not in (f, dict.fromkeys(f, ()))
        ]:
            found |= {name: () for family in apart for name in family}
        return found

    def _with_groups(self, term: Regroup, tags: Mapping[str, Tag]) -> Tag:
        """The tag of the result of a function over groups: with its groups."""
        first = term.inputs[0]
        tag = tags[first.map]
        if not isinstance(tag, Partitioned) or not tag.columns:
            return tag
        names = tuple(n for at in range(len(first.key)) if (n := self._result_column(term, at)) is not None)
        return Partitioned(names if len(names) == len(first.key) else (KEY,))

    def _result_column(self, term: Regroup, at: int) -> str | None:
        """The column of the result that equals the given column of the group's key, if any."""
        for index, one in enumerate(term.inputs):
            place = self.lineage.positions[one.map][one.key[at]]
            name = one.columns[place].name if place < len(one.columns) else None
            if name is not None and _has(term.function, name) and _copies(term.function, index, name):
                return name
        return None

    def _candidates(self, kept: Map) -> tuple[Tag, ...]:
        if keys := self._keys(kept):
            return tuple(Partitioned((n,)) for n, _ in keys)
        allowed = self._allowed(kept)
        return (Partitioned(tuple(n for n in kept.key if n in allowed) or allowed),)

    def _large_keys(self, kept: Map) -> tuple[Tag, ...]:
        """Alternatives for a small map: keys of large tables, of which it may hold few values."""
        return tuple(Partitioned((n,)) for n, count in self._keys(kept) if count > SMALL)

    def _keys(self, kept: Map) -> list[tuple[str, float]]:
        """The columns that hold a table's key, with the number of its values, largest first."""
        found = [(n, c) for n in self._allowed(kept) if (c := self.lineage.cardinality(kept.name, n)) is not None]
        return sorted(found, key=lambda key: -key[1])

    def _allowed(self, kept: Map) -> Names:
        """The columns by which a map may be partitioned without separating rows that its statements combine."""
        allowed = [f.name for f in kept.columns if f.name not in kept.sums]
        for target, term in self._terms():
            match source(term):
                case FinalizeSums(name, keys) if name == kept.name:
                    allowed = [n for n in allowed if n in keys]
                case (Fold() | Sessionize()) as start if target == kept.name:
                    allowed = [n for n in allowed if n in [f.name for f in kept.columns[: len(start.keys)]]]
        return tuple(allowed)


def grouped(step: Step) -> Regroup | None:
    """The function over groups that makes a map, if tasks can run it."""
    match step.terms:
        case (Regroup(native=None) as term,) if term.inputs:
            return term
    return None


def is_driven(term: Term) -> bool:
    """Whether only the driver can start a term: it is evaluated by Spark, or it is an order of all rows."""
    start = source(term)
    return isinstance(start, TopK) or (isinstance(start, Regroup) and start.native is not None)


def _copies(plan: Plan, index: int, name: str) -> bool:
    """Whether a column of a function's result equals, in every row, the input's column of that name."""
    match plan:
        case Input(own):
            return own == index
        case Filter() | Window() | Top():
            return _copies(plan.rows, index, name)
        case Project(results=results) | Aggregate(results=results):
            copied = any(r.name == name and isinstance(r.expr, Column) and r.expr.name == name for r in results)
            return copied and _copies(plan.rows, index, name)
        case Join(left, right, kind):
            sides = [(left, kind in _LEFT), (right, kind in _RIGHT)]
            return any(whole and _has(side, name) and _copies(side, index, name) for side, whole in sides)
        case _:
            return False


_LEFT, _RIGHT = ("inner", "left", "semi", "anti", "exists"), ("inner", "right")
"""The joins whose rows always have values from that side, never NULLs in their place."""


def _has(plan: Plan, name: str) -> bool:
    return any(f.name == name for f in plan.columns)
