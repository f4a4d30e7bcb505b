"""`explain` of a loop: for each state, the statements of a round, its invariant views and its maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viewlet.formatting import plural
from viewlet.loops.definition.compiled import AnyState, CompiledState, GatheredState, HandledState, RelaxedState
from viewlet.loops.gather.gathering import SUM
from viewlet.loops.gather.sums import FULL
from viewlet.loops.language.syntax import State
from viewlet.loops.rounds.task_rounds import why_in_process
from viewlet.plan.show import show_expr
from viewlet.program.chain import changes_read
from viewlet.program.program import Program
from viewlet.program.show import show_map
from viewlet.store import Snapshot
from viewlet.views.explain import cost_lines, heading, map_size, operator_lines, padded, statement_lines

if TYPE_CHECKING:
    from viewlet.loops.maintained import Loop
    from viewlet.warehouse.warehouse import Warehouse

_LAST = 12
"""How many of the last rounds are listed."""


def explain(warehouse: Warehouse, loop: Loop, *, verbose: bool = False) -> str:
    """The states with their operators, maps and statements, the query over them, and the cost of epochs."""
    snapshot, records = warehouse.store.snapshot(), warehouse.history(loop.name)
    lines = [
        padded(f"loop {loop.name} {heading(loop.compiled.result)}", plural(snapshot.contents(loop.name).total(), "row"))
    ]
    for text, state in zip(loop.text.states, loop.compiled.states, strict=True):
        lines += _state(loop, text, state, snapshot, verbose=verbose)
    lines += ["result", *_program(loop.compiled.result, snapshot, set(), verbose=verbose)]
    return "\n".join([*lines, _where(loop), *_rounds(loop, records), *cost_lines(loop, records)])


def _where(loop: Loop) -> str:
    """Where rounds run."""
    if (why := why_in_process(loop.compiled)) is not None:
        return f"rounds run in the driver's process, whichever engine the warehouse has: {why}"
    return "rounds run in the driver's process, or, where they read many rows, on Spark: each is a job"


def outline(loop: Loop) -> str:
    """The same for a loop that is not created, without sizes and costs."""
    lines = [f"loop {loop.name} {heading(loop.compiled.result)}"]
    for text, state in zip(loop.text.states, loop.compiled.states, strict=True):
        lines += _state(loop, text, state, None)
    return "\n".join([*lines, "result", *_program(loop.compiled.result, None, set())])


def _state(loop: Loop, text: State, state: AnyState, snapshot: Snapshot | None, *, verbose: bool = False) -> list[str]:
    if isinstance(state, RelaxedState):
        return _relaxed(text, state, snapshot, verbose=verbose)
    if isinstance(state, HandledState):
        return _handled(text, state, snapshot, verbose=verbose)
    if isinstance(state, GatheredState):
        return _gathered(loop, text, state, snapshot, verbose=verbose)
    rows = "" if snapshot is None else plural(snapshot.contents(state.program.view).total(), "row")
    columns = ", ".join(f.name for f in state.program.columns)
    head = padded(f"state {text.name} ({columns}): {merging(text, state)}", rows)
    return [head, *_program(state.program, snapshot, varying(state), verbose=verbose)]


def _relaxed(text: State, state: RelaxedState, snapshot: Snapshot | None, *, verbose: bool) -> list[str]:
    """A relaxation: its edges and first rows as views, and the statement of a round."""
    columns = ", ".join(f.name for f in state.fields)
    value = "" if state.offering.value is None else f", {show_expr(state.offering.value)}"
    target = state.edges.columns[1].name
    return [
        f"state {text.name} ({columns}): {merging(text, state)}",
        *_views("invariant views", [state.edges], snapshot, verbose=verbose),
        *_views("first rows", [state.firsts], snapshot, verbose=verbose),
        f"  on Δ{text.name}",
        f"    {text.name} ← {target}{value} of Δ{text.name} ⋈ {state.edges.view}, where that is better",
    ]


def _handled(text: State, state: HandledState, snapshot: Snapshot | None, *, verbose: bool) -> list[str]:
    """A state with handlers: its relation and first rows as views, and the flow of deltas in a round."""
    columns, (left, right) = ", ".join(f.name for f in state.fields), state.on
    on = f"{state.fields[left].name} = {state.relation.columns[right].name}"
    return [
        f"state {text.name} ({columns}): {merging(text, state)}",
        *_views("invariant views", [state.relation], snapshot, verbose=verbose),
        *_views("first rows", [state.firsts], snapshot, verbose=verbose),
        f"  on Δ{text.name}",
        f"    Δ{text.name} ⋈ {state.relation.view} on {on} → the join's handler → the aggregate's → {text.name}",
    ]


def _gathered(loop: Loop, text: State, state: GatheredState, snapshot: Snapshot | None, *, verbose: bool) -> list[str]:
    """A gathering state: its invariant views, and the statements of a round."""
    columns, gathering = ", ".join(f.name for f in state.fields), state.gathering
    rows = "" if snapshot is None else plural(snapshot.contents(state.bag).total(), "row")
    sources = "" if state.sources is None else f" ⋈ {state.sources.view}"
    summed, along = f"sum({show_expr(gathering.offer)})", f"{sources} ⋈ {state.edges.view}"
    applied = show_expr(gathering.apply).replace(SUM, "sum")
    in_full = f"    in full, sum := {summed} of {text.name}{along}"
    steps = [f"    sum := {summed} of {text.name}{along}, where Δ{text.name} leads"]
    if loop.ready.gathered is not None and loop.ready.gathered.may_round(is_error=loop.text.limit is None):
        steps = [
            f"    sum += {summed} of Δ{text.name}{along}, by target",
            f"    in the end, sum := {summed} of {text.name}{along}, where differences were added",
        ]
    return [
        padded(f"state {text.name} ({columns}): {merging(text, state)}", rows),
        *_views("invariant views", state.programs, snapshot, verbose=verbose),
        f"  on Δ{text.name}",
        *steps,
        f"{in_full}, where more than one in {FULL} edges starts at Δ{text.name}",
        f"    {text.name} ← {applied}{'' if state.own is None else f' of {state.own.view}'}",
    ]


def _views(title: str, programs: Sequence[Program], snapshot: Snapshot | None, *, verbose: bool) -> list[str]:
    """The views that a graph in memory is built from."""
    lines = [f"  {title}"]
    for program in programs:
        own = ", ".join(f.name for f in program.columns)
        lines.append(f"    {program.view} ({own}), in memory")
        lines += [f"  {line}" for line in _program(program, snapshot, set(), verbose=verbose)]
    return lines


def merging(text: State, state: AnyState) -> str:
    """How the rows of a round are merged with earlier ones."""
    match text.merge:
        case "all":
            return "every round adds its rows"
        case "distinct":
            return "each row in its first round"
        case "key" if state.choice is not None and state.choice.is_sum:
            return f"by {', '.join(text.key)}, rounds add up"
        case "key" if state.choice is None:
            return f"by {', '.join(text.key)}, the newest row"
        case "key" if state.choice:
            return f"by {', '.join(text.key)}, rows with {'greater' if state.choice.is_greatest else 'lesser'} {state.choice.column}"
        case "merged":
            return f"by {', '.join(text.key)}, rows that a function of yours merges"
        case "handled":
            return f"by {', '.join(text.key)}, as its handler says"
        case _:
            return "every round replaces it"


def varying(state: CompiledState) -> set[str]:
    """The maps of a step that rounds change; the others do not change within an epoch's rounds."""
    found = {state.feed}
    for step in state.program.steps:
        if any(bag in found for term in step.terms for bag in changes_read(term)):
            found.add(step.map.name)
    return found


def _program(program: Program, snapshot: Snapshot | None, varying: set[str], *, verbose: bool = False) -> list[str]:
    """Operators, maps and statements of a program."""
    kept = [m for m in program.maps if m.stored and m.name != program.view]
    parts = [("invariant views", [m for m in kept if varying and m.name not in varying])]
    parts.append(("maps", [m for m in kept if not varying or m.name in varying]))
    lines = operator_lines(program)
    for title, maps in parts:
        sizes = ["" if snapshot is None else map_size(m, snapshot) for m in maps]
        listed = [f"    {padded(show_map(m), size, 4)}" for m, size in zip(maps, sizes, strict=True)]
        lines += [f"  {title}", *listed] if maps else []
    return lines + [f"  {line}" for line in statement_lines(program, [], verbose=verbose)]


def _rounds(loop: Loop, records: list[dict[str, Any]]) -> list[str]:
    """How many rows each round of the last epoch changed."""
    for record in reversed(records):
        done = record.get("views", {}).get(loop.name, {})
        if (rounds := done.get("rounds")) is not None:
            in_full = set(done.get("in_full", ()))
            listed = ", ".join(
                f"{int(number)}: {size:,}{' in full' if int(number) in in_full else ''}"
                for number, size in list(rounds.items())[-_LAST:]
            )
            what = "last epoch" if record["kind"] == "epoch" else "computing it from scratch"
            return [f"{what}, rows changed by round: {listed or 'none'}", *_held(done.get("held", {}))]
    return []


def _held(held: dict[str, float]) -> list[str]:
    """The changes that are held back."""
    most = f", by {held['most']:.3g} at most" if "most" in held else ""
    return [f"held back: {held['rows']:,} rows changed{most}, and no round has read it"] if held.get("rows") else []
