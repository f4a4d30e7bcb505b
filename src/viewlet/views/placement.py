"""Users' placements of maps on a cluster, stored in the warehouse and followed by every later epoch.

Stored runs do not depend on the placement: they are sorted by the hash of the map's key and can be cut into any number
of partitions, by any columns. So a new placement takes effect with the next epoch, which does no extra work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from viewlet.compile import Facts
from viewlet.compile.distribute import place
from viewlet.errors import UnknownName, WrongArgument, shortened
from viewlet.program.distributed import Local, Partitioned, Replicated, Tag
from viewlet.program.program import Program
from viewlet.warehouse.maintained import Placement

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse

_PLACEMENT = "placement"


def set_placement(warehouse: Warehouse, program: Program, facts: Facts, given: Placement) -> int:
    """Replace the user's placement of a view's maps; the compiler places those left out. Return the epoch."""
    read_placement(program, facts, given)
    with warehouse.writing(), warehouse.store.begin() as transaction:
        known: dict[str, Any] = dict(warehouse.store.catalog.get(_PLACEMENT, {}))
        known[program.view] = {
            name: list(where) if not isinstance(where, str) else where for name, where in given.items()
        }
        transaction.put(_PLACEMENT, {view: chosen for view, chosen in known.items() if chosen})
        return transaction.commit({"kind": "set placement", "name": program.view})


def stored_placement(warehouse: Warehouse) -> str:
    """All stored placements as text, to compare them by."""
    return json.dumps(warehouse.store.catalog.get(_PLACEMENT, {}), sort_keys=True)


def chosen_placement(warehouse: Warehouse, programs: Iterable[Program], facts: Facts) -> dict[str, Tag]:
    """The stored placements of the programs' maps, without those that no longer apply."""
    stored: Mapping[str, Placement] = warehouse.store.catalog.get(_PLACEMENT, {})
    found: dict[str, Tag] = {}
    for program in programs:
        if chosen := stored.get(program.view):
            placed = place([program], facts)
            tags = {name: _tag(name, where) for name, where in chosen.items() if name in placed.maps}
            found |= {name: tag for name, tag in tags.items() if placed.why_not(name, tag) is None}
    return found


def read_placement(program: Program, facts: Facts, given: Placement) -> dict[str, Tag]:
    """Validate a placement."""
    placed = place([program], facts)
    tags: dict[str, Tag] = {}
    for name, where in given.items():
        if name not in placed.maps:
            raise UnknownName(
                f"view {program.view} has no map {shortened(name)}", hint=f"it has {', '.join(placed.maps)}"
            )
        tags[name] = _tag(name, where)
        if (why := placed.why_not(name, tags[name])) is not None:
            raise WrongArgument(
                f"{name} cannot be placed by {shortened(where)}: {why}", hint="leave it to the compiler"
            )
    return tags


def _tag(name: str, where: Any) -> Tag:
    match where:
        case "driver":
            return Local()
        case "replicated":
            return Replicated()
        case [*columns] if all(isinstance(c, str) for c in columns):
            return Partitioned(tuple(columns))
    raise WrongArgument(
        f"{name} cannot be placed by {shortened(where)}", hint='"driver", "replicated", or a list of columns'
    )
