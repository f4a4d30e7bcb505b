"""`%viewlet` and `%%viewlet`: statements in the cells of a notebook.

`%viewlet PATH` opens a warehouse, or `%viewlet NAME` takes a variable that holds one; it is `db` in the notebook.
A cell that begins with `%%viewlet` holds statements, separated by semicolons; markers `:name` stand for variables.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from viewlet.database import Database, connect
from viewlet.errors import ViewletError, WrongArgument
from viewlet.formatting import html_table
from viewlet.sql import split

DATABASE = "db"
_MARKER = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")


class Result:
    """The rows of a query, as a notebook shows them; pandas, Polars and Arrow take them as they are."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return self.table.num_rows

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return self.table.to_pandas()

    def __repr__(self) -> str:
        from viewlet.formatting import table_text

        return table_text(self.table)

    def _repr_html_(self) -> str:
        return html_table(self.table)


def load(shell: Any) -> None:
    """Make the magics known."""
    magics = Magics(shell)
    shell.register_magic_function(magics.line, "line", "viewlet")
    shell.register_magic_function(magics.cell, "cell", "viewlet")


class Magics:
    """What the magics do in one notebook."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell

    def line(self, text: str) -> Database:
        """Open a warehouse, or take one that a variable holds."""
        given = text.strip()
        found = self.shell.user_ns.get(given) if given.isidentifier() else None
        if not given:
            found = self._database()
        db = found if isinstance(found, Database) else connect(given, progress=True)
        self.shell.user_ns[DATABASE] = db
        return db

    def cell(self, line: str, body: str) -> Any:
        """Run statements; what the last one gives."""
        db = self.line(line) if line.strip() else self._database()
        result: Any = None
        for _, text in split(body):
            result = db.sql(text, self._parameters(text))
        return Result(result) if isinstance(result, pa.Table) else Text(result) if isinstance(result, str) else result

    def _database(self) -> Database:
        db = self.shell.user_ns.get(DATABASE)
        if not isinstance(db, Database):
            raise WrongArgument("no warehouse is open in this notebook", hint="%viewlet PATH opens one")
        return db

    def _parameters(self, text: str) -> dict[str, Any]:
        """The variables that the markers of a statement name."""
        names = set(_MARKER.findall(_without_literals(text)))
        missing = sorted(name for name in names if name not in self.shell.user_ns)
        if missing:
            raise ViewletError(f"there is no variable {', '.join(missing)} for :{missing[0]}", hint="assign it first")
        return {name: self.shell.user_ns[name] for name in names}


class Text(str):
    """A text that a notebook shows as it is, line by line."""

    def __repr__(self) -> str:
        return str(self)


def _without_literals(text: str) -> str:
    return re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|--[^\n]*", " ", text)
