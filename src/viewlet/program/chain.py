"""Terms as chains of steps: what a term starts from, which changes trigger it, and what it reads."""

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
    """Where a term starts."""
    while isinstance(term, Following):
        term = term.rows
    return term


def chain(term: Term) -> tuple[Term, ...]:
    """A term's steps, from where it starts to the last."""
    steps = [term]
    while isinstance(term, Following):
        term = term.rows
        steps.append(term)
    return tuple(reversed(steps))


def changes_read(term: Term) -> tuple[str, ...]:
    """The bags whose change makes a term give something."""
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
