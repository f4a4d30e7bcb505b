"""Emitting a program's distributed statements: in single transformer form, each result computed once.

A term is split where its rows move: the part so far gets a name, a `Move` transports it, and the rest starts from what
arrived. Equal terms over equal results are shared (common subexpressions, also between views), and so are equal moves.
Of the rules of figure 5.3, Repart ∘ Repart ⇒ Repart is the one that pays: a term that would move a map's delta on
starts from the parts of that delta, where they were before they moved to the map.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from viewlet.compile.distribute.place import grouped, is_driven
from viewlet.compile.distribute.spots import (
    ANYWHERE,
    LOCAL,
    REPLICATED,
    Action,
    Ids,
    Routes,
    Run,
    Spot,
    spot_of,
    tag_of,
)
from viewlet.plan.expr import Column, Named, substitute
from viewlet.plan.types import Field
from viewlet.program.chain import chain, changes_read
from viewlet.program.distributed import (
    Anywhere,
    Arrival,
    Compute,
    Local,
    Move,
    Partitioned,
    Replicated,
    Statement,
    Tag,
    Transformer,
    Update,
    reads_of,
)
from viewlet.program.identity import identity
from viewlet.program.program import Step
from viewlet.program.terms import (
    KEY,
    Change,
    FinalizeSums,
    Fold,
    Following,
    Leaders,
    Probe,
    Project,
    Regroup,
    Sessionize,
    Term,
    TopK,
    Values,
)


@dataclass(frozen=True, slots=True)
class Optimizations:
    """Optimizations of distributed programs; each affects the cost, none the result."""

    reorder: bool = True
    """Look-ups that need no move come first."""
    compose: bool = True
    """Two successive moves become one (figure 5.3)."""
    share: bool = True
    """Equal results and moves are made once for all views."""
    search: bool = True
    """Maps may be partitioned by another key than the largest table's if that saves stages or moves."""
    fuse: bool = True
    """Statements that can run together are one block (figure 5.4)."""


NONE = Optimizations(reorder=False, compose=False, share=False, search=False, fuse=False)


@dataclass(frozen=True, slots=True)
class Result:
    """A named result: where it is, its columns, and the stage that computes it."""

    tag: Tag
    columns: tuple[Field, ...]
    stage: int


@dataclass(frozen=True, slots=True)
class Flow:
    """A partial term: the steps so far, and where its rows are."""

    term: Term
    spot: Spot
    ids: Ids
    given: tuple[tuple[str, str], ...] = ()


class Emitter:
    """Emits the statements of steps, in order."""

    def __init__(self, tags: Mapping[str, Tag], taken: frozenset[str], options: Optimizations) -> None:
        self.tags = dict(tags)
        self.options = options
        self.statements: list[Statement] = []
        self.results: dict[str, Result] = {}
        self._routes = Routes(self.tags, reorder=options.reorder)
        self._parts: dict[str, tuple[str, ...]] = {}
        """The parts of each map's delta, before they moved to the map."""
        self._made: dict[Hashable, str] = {}
        self._taken = taken
        self._names = (f"#{number}" for number in count(1))

    def step(self, step: Step) -> None:
        """Emit the statements of a step."""
        name, goal = step.map.name, self.tags.get(step.map.name)
        parts = [part for term in step.terms for part in self._term(term, goal, step)]
        if goal is None:
            goal = self.tags[name] = self._floating_tag(parts, step.map.columns)
        moved = tuple(self._to(part, goal, step.map.columns) for part in parts)
        if any(a != b for a, b in zip(parts, moved, strict=True)) and self._can_start_from(parts):
            self._parts[name] = tuple(parts)
        self._emit(Update(step.map, moved, goal), step.map.columns, max(self.results[m].stage for m in moved))

    def _can_start_from(self, parts: Sequence[str]) -> bool:
        return self.options.compose and all(isinstance(self.results[p].tag, Anywhere | Partitioned) for p in parts)

    def _floating_tag(self, parts: Sequence[str], columns: tuple[Field, ...]) -> Tag:
        """The location of a delta that is not stored: that of its parts, if they agree."""
        tags = {self._renamed_tag(part, columns) for part in parts}
        if len(tags) == 1:
            return tags.pop()
        return Local() if Local() in tags else Partitioned(tuple(f.name for f in columns))

    def _term(self, term: Term, goal: Tag | None, step: Step) -> list[str]:
        """The results of a term, not yet moved to its map."""
        first, *rest = chain(term)
        start = self._start(first, goal, step)
        cost, actions = self._routes.best(start.spot, start.ids, rest, goal)
        if isinstance(first, Change) and (parts := self._parts.get(first.bag)):
            earlier = [self._change(replace(first, bag=part)) for part in parts]
            found = [self._routes.best(flow.spot, flow.ids, rest, goal) for flow in earlier]
            stages = [self.results[p].stage + c[0] for p, (c, _) in zip(parts, found, strict=True)]
            if max(stages) < self.results[first.bag].stage + cost[0]:
                return [self._run(flow, a, term) for flow, (_, a) in zip(earlier, found, strict=True)]
        return [self._run(start, actions, term)]

    def _run(self, flow: Flow, actions: Sequence[Action], term: Term) -> str:
        for action in actions:
            flow = self._moved(flow, action) if isinstance(action, Spot) else self._followed(flow, action)
        names = [f.name for f in term.columns]
        if [f.name for f in flow.term.columns] != names:  # look-ups were reordered
            results = tuple(Named(f.name, Column(f.name, f.type)) for f in term.columns)
            flow = replace(flow, term=Project(flow.term, results, term.columns))
        return self._named(flow)

    def _start(self, first: Term, goal: Tag | None, step: Step) -> Flow:
        match first:
            case Change():
                return self._change(first)
            case Values():
                return Flow(first, LOCAL if goal == Local() else REPLICATED, self._routes.number(first.columns))
            case TopK():
                return self._led(first)
            case Regroup() if is_driven(first) or not first.inputs:
                return self._driven(first)
            case FinalizeSums(name, keys, _, columns):
                ids = self._routes.number(columns)
                own = {key: ids[f.name] for key, f in zip(keys, columns, strict=False)}
                return Flow(first, spot_of(self.tags[name], own), ids)
            case Regroup():
                assert grouped(step) is first, f"{step.map.name} is the result of one function over groups"
                ids = self._routes.number(first.columns)
                return Flow(first, spot_of(self.tags[step.map.name], ids), ids)
            case Fold() | Sessionize():
                return self._merged(first)
        raise AssertionError(f"{first} starts no term")

    def _change(self, term: Change) -> Flow:
        found = self.results.get(term.bag) or self._arrived(term)
        ids = self._routes.number(term.columns)
        own = {f.name: ids[c.name] for f, c in zip(found.columns, term.columns, strict=False)}
        return Flow(term, ANYWHERE if found.tag == Partitioned((KEY,)) else spot_of(found.tag, own), ids)

    def _arrived(self, term: Change) -> Result:
        columns = term.columns if term.weight is None else term.columns[:-1]
        self._emit(Arrival(term.bag, Anywhere()), columns, 1)
        return self.results[term.bag]

    def _driven(self, term: TopK | Regroup) -> Flow:
        """A term that the driver starts, on the changes that it reads."""
        given = tuple((bag, self._to(bag, Local(), self.results[bag].columns)) for bag in changes_read(term))
        return Flow(term, LOCAL, self._routes.number(term.columns), tuple(g for g in given if g[0] != g[1]))

    def _led(self, term: TopK) -> Flow:
        """A top-k, started by the driver on the leading rows of each partition's change."""
        found = self.results[term.map]
        if found.tag == Local():
            return self._driven(term)
        change = self._change(Change(term.map, found.columns))
        own = dict(zip((f.name for f in term.columns), found.columns, strict=False))
        order = tuple(
            replace(o, key=substitute(o.key, {n: Column(f.name, f.type) for n, f in own.items()}))
            for o in term.limit.order
        )
        led = self._named(replace(change, term=Leaders(change.term, order, term.kept)))
        given = ((term.map, self._to(led, Local(), found.columns)),)
        return Flow(term, LOCAL, self._routes.number(term.columns), given)

    def _merged(self, term: Fold | Sessionize) -> Flow:
        """A term that merges a map's change into its target, at the target's location."""
        ids = self._routes.number(term.columns)
        tag = self.tags[term.target]
        if isinstance(tag, Partitioned):
            keys = {f.name: key for f, key in zip(term.columns, term.keys, strict=False)}
            tag = Partitioned(tuple(keys[c] for c in tag.columns))
        moved = self._to(term.map, tag, self.results[term.map].columns)
        given = () if moved == term.map else ((term.map, moved),)
        return Flow(term, spot_of(self.tags[term.target], ids), ids, given)

    def _followed(self, flow: Flow, run: Run) -> Flow:
        step = run.step
        assert isinstance(step, Following), f"{step} follows nothing"
        term: Term = replace(step, rows=flow.term)
        if isinstance(term, Probe):
            own = {*(new for _, new in term.take), term.weight}
            columns = (*flow.term.columns, *(f for f in term.columns if f.name in own))
            term = replace(term, columns=columns)
        return replace(flow, term=term, spot=run.spot, ids=run.ids)

    def _moved(self, flow: Flow, to: Spot) -> Flow:
        name = self._named(flow)
        moved = self._to(name, tag_of(to, flow.ids, flow.term.columns), flow.term.columns)
        term = replace(flow.term, bag=moved) if isinstance(flow.term, Change) else Change(moved, flow.term.columns)
        return Flow(term, to, flow.ids)

    def _named(self, flow: Flow) -> str:
        """The name of a partial term's result."""
        term = flow.term
        if isinstance(term, Change):
            return term.bag
        known = identity((term,), ()) or term
        return self._once(("compute", known, flow.given), lambda name: self._compute(name, flow))

    def _compute(self, name: str, flow: Flow) -> None:
        statement = Compute(name, flow.term, tag_of(flow.spot, flow.ids, flow.term.columns), flow.given)
        stages = [self.results[name].stage for name in reads_of(statement) if name in self.results]
        self._emit(statement, flow.term.columns, max(stages, default=1))

    def _to(self, name: str, tag: Tag, columns: tuple[Field, ...]) -> str:
        """A result moved to a tag, which uses the given column names."""
        found = self.results[name]
        if isinstance(tag, Partitioned):
            own = {c.name: f.name for f, c in zip(found.columns, columns, strict=False)}
            tag = Partitioned(tuple(own[c] for c in tag.columns))
        if tag in (found.tag, Anywhere()):
            return name
        return self._once(("move", name, tag), lambda new: self._move(new, name, tag))

    def _move(self, new: str, name: str, tag: Tag) -> None:
        found = self.results[name]
        kind = _transformer(found.tag, tag)
        later = int(kind in ("repartition", "scatter"))
        self._emit(Move(new, name, kind, tag, found.columns), found.columns, found.stage + later)

    def _renamed_tag(self, name: str, columns: tuple[Field, ...]) -> Tag:
        """A result's tag under the given column names."""
        found = self.results[name]
        if not isinstance(found.tag, Partitioned):
            return found.tag
        own = {f.name: c.name for f, c in zip(found.columns, columns, strict=False)}
        names = tuple(own[c] for c in found.tag.columns if c in own)
        return Partitioned(names) if len(names) == len(found.tag.columns) else Anywhere()

    def _once(self, key: Hashable, make: Callable[[str], None]) -> str:
        """The result for a key, created if it does not exist."""
        if self.options.share and (known := self._made.get(key)) is not None:
            return known
        name = next(name for name in self._names if name not in self._taken)
        self._made[key] = name
        make(name)
        return name

    def _emit(self, statement: Statement, columns: tuple[Field, ...], stage: int) -> None:
        self.statements.append(statement)
        self.results[statement.name] = Result(statement.tag, columns, stage)


def _transformer(source: Tag, target: Tag) -> Transformer:
    match source, target:
        case _, Local():
            return "gather"
        case Local(), _:
            return "scatter"
        case Replicated(), Partitioned():
            return "retain"
        case _:
            return "repartition"
