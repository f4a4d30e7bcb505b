"""The history of a loop's state, by round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from viewlet.columns.rows import Rows
from viewlet.errors import UnknownName
from viewlet.loops.definition.compiled import CompiledState, GatheredState, HandledState, RelaxedState
from viewlet.loops.definition.histories import ROUND
from viewlet.loops.relax.run import PreparedRelaxation, Relaxing, rounds
from viewlet.loops.rounds.working import WorkingMaps
from viewlet.warehouse.refresh import visible

if TYPE_CHECKING:
    from viewlet.database import Database
    from viewlet.loops.maintained import Loop
    from viewlet.warehouse.warehouse import Warehouse


def history(db: Database, view: str, state: str | None = None) -> pa.Table:
    """The rows of a loop's state, each with the round that produced it, `_round`; `state` names one of several.

    With USING KEY a key has several rows, each better than those before it. A state that every round replaces has no
    history; only its last rows are returned.
    """
    from viewlet.loops.maintained import Loop

    found = db._warehouse.catalog.view(view)
    if not isinstance(found, Loop):
        raise UnknownName(f"{found.name} is a {found.kind}, which has no rounds")
    states = {s.name.lower(): s for s in found.compiled.states}
    wanted = states.get((state or found.compiled.states[0].name).lower())
    if wanted is None:
        raise UnknownName(f"{found.name} has no state named {state}", hint=f"it has {', '.join(states)}")
    if isinstance(wanted, RelaxedState):
        return _rounds_again(db._warehouse, found, wanted)
    return _stored(db._warehouse, wanted)


def _stored(warehouse: Warehouse, state: CompiledState | GatheredState | HandledState) -> pa.Table:
    rows = warehouse.store.snapshot().contents(state.bag).consolidated().select(state.stored)
    names = [*(f.name for f in state.fields), *([] if state.goes_on else [ROUND])]
    return rows.rename(names).expanded().arrow()


def _rounds_again(warehouse: Warehouse, loop: Loop, state: RelaxedState) -> pa.Table:
    """The history of a relaxation, which is not stored: its rounds run again from the start."""
    snapshot = warehouse.store.snapshot()

    def rows(name: str) -> Rows:
        return visible(warehouse.catalog.find(name), snapshot.contents(name).consolidated())

    relaxing = Relaxing(loop.name, PreparedRelaxation(state), loop.reads, WorkingMaps.in_memory())
    parts = [
        some.with_columns({ROUND: pa.array(np.full(len(some), number))})
        for number, some in enumerate(rounds(relaxing, rows))
    ]
    return Rows.concat(parts).arrow()
