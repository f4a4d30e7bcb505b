"""Plots how many rows each round changed, with Matplotlib (`pip install viewlet[plot]`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from viewlet.errors import UnknownName
from viewlet.extras import needed

if TYPE_CHECKING:
    from viewlet.database import Database


def plot(db: Database, view: str, *, epochs: int = 1, ax: Any = None) -> Any:
    """Plot |ΔX| by round for the last epochs that changed a loop; return the axes."""
    records = [(r["epoch"], r.get("views", {}).get(view, {})) for r in db.history(view)]
    found = [(epoch, done["rounds"]) for epoch, done in records if "rounds" in done]
    if not found:
        raise UnknownName(f"{view} has no rounds to show", hint="give the name of a loop")
    drawn = needed("matplotlib.pyplot", "plot").subplots()[1] if ax is None else ax
    for epoch, sizes in found[-epochs:]:
        drawn.plot([int(number) for number in sizes], list(sizes.values()), marker="o", label=f"epoch {epoch}")
    drawn.set(title=view, xlabel="round", ylabel="rows that change", yscale="log")
    drawn.legend()
    return drawn
