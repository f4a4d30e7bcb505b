"""What views can say, feature by feature: the SQL that shows each, by family. docs/sql.md is made from these."""

from tests.features.aggregates import AGGREGATES, GROUPS
from tests.features.rows import JOINS, NESTED, ROWS, SETS, SUBQUERIES
from tests.features.windows import TIME, WINDOWS

FAMILIES: dict[str, dict[str, str]] = {
    "Rows": ROWS,
    "Joins": JOINS,
    "Aggregates": AGGREGATES,
    "Groups": GROUPS,
    "Window functions": WINDOWS,
    "Set operators": SETS,
    "Subqueries": SUBQUERIES,
    "Nested data": NESTED,
    "Time": TIME,
}
