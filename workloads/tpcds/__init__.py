"""TPC-DS: the tables that 35 of its queries read, the queries with the specification's own parameters, and data.

The queries are the thirteen of Nikolic's thesis (appendix A.4), those of the same family that it left out for their
windows, and some of other kinds: correlated and scalar subqueries, ROLLUP, outer joins, disjunctions, stock.
"""

from pathlib import Path

from viewlet.sql import CreateTable, parse, split

FOLDER = Path(__file__).parent
SCHEMA = [text for _, text in split((FOLDER / "schema.sql").read_text(encoding="utf-8"))]
TABLES = {made.name: made for made in map(parse, SCHEMA) if isinstance(made, CreateTable)}
QUERIES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FOLDER / "queries").glob("*.sql"))}
