"""The statements of `db.sql(...)`, read without Spark.

Viewlet reads the frame of a statement (which table, which columns, which policy); queries and expressions
inside it stay text, for Spark to read: there is one meaning of SQL, and it is Spark's.
"""

from viewlet.plan.words import read_words, split, split_finished
from viewlet.sql.literals import literal_rows
from viewlet.sql.parse import parse
from viewlet.sql.statements import (
    AddColumns,
    CreateTable,
    CreateView,
    DeleteFrom,
    Describe,
    DescribeHistory,
    DescribeQuery,
    Drop,
    DropColumns,
    Explain,
    InsertInto,
    Merge,
    MergeClause,
    Policy,
    Refresh,
    RefreshTable,
    Rename,
    RenameColumn,
    Select,
    Show,
    ShowColumns,
    ShowCreate,
    Statement,
    Update,
)

__all__ = [
    "AddColumns", "CreateTable", "CreateView", "DeleteFrom", "Describe", "DescribeHistory", "DescribeQuery", "Drop",
    "DropColumns", "Explain", "InsertInto", "Merge", "MergeClause", "Policy", "Refresh", "RefreshTable", "Rename", "RenameColumn",
    "Select", "Show", "ShowColumns", "ShowCreate", "Statement", "Update", "literal_rows", "parse", "read_words",
    "split", "split_finished",
]  # fmt: skip
