"""The statements of `db.sql(...)`, parsed without Spark.

Viewlet parses the frame of a statement (table, columns, policy); queries and expressions in it stay text for Spark, so
that SQL has only one meaning, Spark's.
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
