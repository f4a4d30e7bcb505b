"""What reads a table or view, and whether a run of dbt makes it again."""

from __future__ import annotations

from collections.abc import Iterable

from dbt.adapters.viewlet.relation import ViewletRelation
from dbt_common.exceptions import DbtRuntimeError

import viewlet


def all_readers(db: viewlet.Database, name: str) -> list[str]:
    """Everything that reads a table or view, directly or through others."""
    found = [name]
    for read, reader in db.graph()["edges"]:  # in the order in which changes pass through them
        if read in found and reader not in found:
            found.append(reader)
    return found[1:]


def refuse_other_readers(relation: ViewletRelation, readers: Iterable[str], remade: Iterable[str]) -> None:
    """Only models that come again in this run may be dropped on the way."""
    again = {name.lower() for name in remade}
    if others := [reader for reader in readers if relation.quoted(reader).lower() not in again]:
        raise DbtRuntimeError(
            f"{', '.join(others)} read {relation}, which has to be made anew, and this run does not make them again. "
            f"Select them too (dbt run --select {relation.identifier}+), or drop them."
        )
