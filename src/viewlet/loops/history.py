"""Looking at the rounds of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from viewlet.errors import UnknownName

if TYPE_CHECKING:
    from viewlet.database import Database


def history(db: Database, view: str, state: str | None = None) -> pa.Table:
    """The rows of a loop's state, each with the round that brought it, `_round`; `state` says which, if it has several.

    Under USING KEY there are several rows of a key, each better than those before it. A state that rounds replace has
    no history, but its last rows.
    """
    from viewlet.loops.maintained import Loop

    found = db._warehouse.catalog.view(view)
    if not isinstance(found, Loop):
        raise UnknownName(f"{found.name} is a {found.kind}, which has no rounds")
    states = {s.name.lower(): s.program for s in found.compiled.states}
    program = states.get((state or found.compiled.states[0].name).lower())
    if program is None:
        raise UnknownName(f"{found.name} has no state named {state}", hint=f"it has {', '.join(states)}")
    rows = db._warehouse.store.snapshot().contents(program.view).consolidated().select(program.stored)
    return rows.rename([f.name for f in program.columns]).expanded().arrow()
