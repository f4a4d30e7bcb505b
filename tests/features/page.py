"""docs/sql.md: for each feature its tier, its state, and what a change costs, read from its program."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from viewlet import Database
from viewlet.loops.maintained import Loop
from viewlet.program.access import Extremes, Leading, Nearby, Range, Ranked
from viewlet.program.chain import chain, changes_read
from viewlet.program.program import Program, operators
from viewlet.program.terms import Probe, Regroup, Sessionize, SparkRowwise, Term, TopK
from viewlet.views.view import sql_view

PAGE = Path(__file__).parent.parent.parent / "docs" / "sql.md"
TIERS = ("ring", "keyed", "recompute")


def row(db: Database, name: str, feature: str, sql: str) -> str:
    """The line about a view."""
    view = db._warehouse.catalog.view(name)
    if isinstance(view, Loop):
        *states, result = view.compiled.programs
        kept = "; ".join(state(db, program) for program in (*states, result))
        return f"| {feature} | loop, {tier(*states, result)} | {kept} | {cost(result)} | {_code(sql)} |"
    program = sql_view(db._warehouse.catalog, name).program
    return f"| {feature} | {tier(program)} | {state(db, program)} | {cost(program)} | {_code(sql)} |"


def tier(*programs: Program) -> str:
    """The lowest tier of a view's operators, and why it is not a better one."""
    notes = [note for program in programs for _, note in operators(program.notes)]
    worst = max((n.tier for n in notes if n.tier), key=TIERS.index, default="ring")
    found = dict.fromkeys(n.reason for n in notes if n.tier == worst and n.reason)
    reasons = [_short(r) for r in found if r != "evaluated within the operator below"]
    return f"{worst}: {_safe('; '.join(reasons))}" if reasons else worst


def state(db: Database, program: Program) -> str:
    """The maps beside the view, by their keys, with the rows that they hold."""
    snapshot = db._warehouse.store.snapshot()
    kept = [m for m in program.maps if m.stored and m.name != program.view]
    return (
        "; ".join(f"[{', '.join(sorted(m.key))}] {len(snapshot.contents(m.name).consolidated())}" for m in kept)
        or "none"
    )


def cost(program: Program) -> str:
    """What a change of `orders` sets off."""
    moved, done = {"orders"}, Counter[str]()
    for step in program.steps:
        fired = [t for t in step.terms if moved & set(changes_read(t))]
        if fired:
            moved.add(step.map.name)
            done.update(_action(part) for term in fired for part in chain(term))
    del done[""]
    return ", ".join(f"{n} × {what}" if n > 1 else what for what, n in done.items()) or "the changed rows alone"


def _action(term: Term) -> str:
    match term:
        case Probe(read=Range()):
            return "look-up by range"
        case Probe():
            return "look-up by key"
        case Regroup():
            where = "Spark" if term.native is not None else "process"
            match [i.read for i in term.inputs]:
                case [Nearby()]:
                    return f"recompute the affected rows (in {where})"
                case [Extremes() | Leading()]:
                    return f"recompute touched groups from their first rows (in {where})"
                case [Ranked()]:
                    return f"recompute touched groups from rows by rank (in {where})"
            return (
                f"recompute touched groups (in {where})" if term.is_keyed else f"recompute from all rows (in {where})"
            )
        case Sessionize():
            return "recompute the affected sessions"
        case TopK():
            return "update the first rows and the reserve"
        case SparkRowwise():
            return "run the changed rows on Spark"
    return ""


def section(family: str, rows: list[str]) -> str:
    head = "| feature | tier | maps kept, and their rows | a change costs | query |\n|---|---|---|---|---|"
    shown = f'Shown by `pytest tests/test_features.py -k "{family}"`.'
    return "\n".join([f"## {family}", shown, "", head, *rows, ""])


def sections(text: str) -> dict[str, str]:
    """The sections of the page, by family."""
    return {part.split("\n", 1)[0][3:]: part for part in re.split(r"(?m)^(?=## )", text) if part.startswith("## ")}


def _short(reason: str) -> str:
    return re.sub(r"`(.{60}).*?`", r"`\1…`", reason)


def _safe(text: str) -> str:
    return text.replace("|", "\\|")


def _code(sql: str) -> str:
    return f"`{_safe(sql)}`"
