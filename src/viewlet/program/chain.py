"""Terms as chains of steps: their start, the changes that trigger them, and the maps they read."""

from __future__ import annotations

from viewlet.program.terms import (
    Change,
    FinalizeSums,
    Fold,
    Following,
    Probe,
    Regroup,
    Sessionize,
    Term,
    TopK,
)


def source(term: Term) -> Term:
    """The first step of a term."""
    while isinstance(term, Following):
        term = term.rows
    return term


def chain(term: Term) -> tuple[Term, ...]:
    """The steps of a term, first to last."""
    steps = [term]
    while isinstance(term, Following):
        term = term.rows
        steps.append(term)
    return tuple(reversed(steps))


def changes_read(term: Term) -> tuple[str, ...]:
    """The bags whose change triggers a term."""
    match source(term):
        case Change(bag):
            return (bag,)
        case FinalizeSums(map=name) | Fold(map=name) | Sessionize(map=name) | TopK(map=name):
            return (name,)
        case Regroup(inputs):
            return tuple(dict.fromkeys(i.map for i in inputs))
        case _:
            return ()


def maps_read(term: Term) -> tuple[tuple[str, str], ...]:
    """The maps that a term looks up, with the version it reads."""
    found: list[tuple[str, str]] = []
    for step in chain(term):
        match step:
            case Probe():
                found.append((step.map, step.version))
            case FinalizeSums():
                found.append((step.map, "old"))
            case Fold() | Sessionize():
                found.append((step.target, "old"))
            case Regroup():
                found += [(i.map, "new") for i in step.inputs]
                found.append((step.target, "old"))
            case TopK():
                found += [(step.map, "new"), (step.target, "old")]
            case _:
                pass
    return tuple(dict.fromkeys(found))
