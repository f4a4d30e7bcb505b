"""dbt's relations as names of a warehouse, which have one part.

A name without a dot is in the schema `main`; `staging.orders` is `orders` in the schema `staging`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.base.relation import BaseRelation
from dbt_common.exceptions import DbtRuntimeError

MAIN = "main"


def name_in_warehouse(schema: str | None, identifier: str) -> str:
    """The name that a table or view has in the warehouse."""
    return identifier if schema is None or schema.lower() == MAIN else f"{schema}.{identifier}"


def split_name(name: str) -> tuple[str, str]:
    """The schema and the identifier of a name in the warehouse."""
    schema, dot, identifier = name.partition(".")
    return (schema, identifier) if dot else (MAIN, name)


@dataclass(frozen=True, eq=False, repr=False)
class ViewletRelation(BaseRelation):
    """A table or view; both parts of its name are in one pair of backticks."""

    quote_character: str = "`"

    @property
    def stored_name(self) -> str:
        """Its name in the warehouse."""
        if self.identifier is None:
            raise DbtRuntimeError(f"schema {self.schema} is not a table or view")
        return name_in_warehouse(self.schema, self.identifier)

    def render(self) -> str:
        if self.identifier is None or not self.include_policy.identifier:
            return self.quoted(self.schema or MAIN)
        return self.quoted(self.stored_name)

    def quoted(self, identifier: str) -> str:
        return "`" + identifier.replace("`", "``") + "`"
