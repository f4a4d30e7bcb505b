"""A small TPC-H database that changes everywhere: for tests.

Every column has a small domain with the values that the queries ask for, and their neighbours, so that predicates
hold now and then. Keys come from ranges a little wider than what is there: some foreign keys lead nowhere.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal, NamedTuple

Row = tuple[Any, ...]
WORDS = ("", "quick deposits", "special packages and requests", "Customer slyly Complaints")
MONEY = tuple(map(Decimal, ("-120.50", "0.00", "99.99", "880.00", "5000.10")))
PRICES = tuple(map(Decimal, ("0.01", "12.50", "99.99", "880.00", "5000.10")))
"""All positive: Q8 and Q14 divide by sums of them, and Spark refuses to divide by zero."""
PHONES = ("13-100-1", "31-200-2", "18-300-3", "10-400-4")
SUPPLIERS, CUSTOMERS, PARTS, ORDERS = range(12), range(24), range(12), range(60)
DATES = (
    *(date(1993, 7, 1), date(1993, 9, 30), date(1993, 10, 5), date(1993, 12, 31)),
    *(date(1994, 1, 1), date(1994, 2, 3), date(1994, 6, 30), date(1994, 8, 1), date(1994, 12, 31)),
    *(date(1995, 1, 1), date(1995, 3, 14), date(1995, 3, 15), date(1995, 3, 16), date(1995, 9, 1), date(1995, 9, 30)),
    *(date(1996, 1, 1), date(1996, 3, 31), date(1996, 12, 31)),
    *(date(1998, 9, 2), date(1998, 9, 3)),
)


class Domain(NamedTuple):
    """The values of a table's columns, the key's first, and how many rows there are at first."""

    rows: int
    key: dict[str, Sequence[Any]]
    rest: dict[str, Sequence[Any]]


DOMAINS = {
    "region": Domain(
        5,
        {"r_regionkey": range(6)},
        {"r_name": ("EUROPE", "ASIA", "AMERICA", "AFRICA"), "r_comment": WORDS},
    ),
    "nation": Domain(
        7,
        {"n_nationkey": range(8)},
        {
            "n_name": ("FRANCE", "GERMANY", "BRAZIL", "CANADA", "SAUDI ARABIA"),
            "n_regionkey": range(5),
            "n_comment": WORDS,
        },
    ),
    "supplier": Domain(
        10,
        {"s_suppkey": SUPPLIERS},
        {
            "s_name": ("Supplier#1", "Supplier#2", "Supplier#3", "Supplier#4"),
            "s_address": ("here", "there"),
            "s_nationkey": range(7),
            "s_phone": PHONES,
            "s_acctbal": MONEY,
            "s_comment": WORDS,
        },
    ),
    "customer": Domain(
        20,
        {"c_custkey": CUSTOMERS},
        {
            "c_name": ("Customer#1", "Customer#2", "Customer#3"),
            "c_address": ("here", "there"),
            "c_nationkey": range(7),
            "c_phone": PHONES,
            "c_acctbal": MONEY,
            "c_mktsegment": ("BUILDING", "MACHINERY"),
            "c_comment": WORDS,
        },
    ),
    "part": Domain(
        10,
        {"p_partkey": PARTS},
        {
            "p_name": ("forest green", "forest ivory", "blush"),
            "p_mfgr": ("Manufacturer#1", "Manufacturer#2"),
            "p_brand": ("Brand#12", "Brand#23", "Brand#34", "Brand#45"),
            "p_type": (
                "ECONOMY ANODIZED STEEL",
                "PROMO BURNISHED BRASS",
                "MEDIUM POLISHED BRASS",
                "LARGE PLATED BRASS",
            ),
            "p_size": (3, 5, 14, 15, 15, 15),
            "p_container": ("SM BOX", "MED BOX", "LG PKG", "JUMBO CAN"),
            "p_retailprice": MONEY,
            "p_comment": WORDS,
        },
    ),
    "partsupp": Domain(
        80,
        {"ps_partkey": PARTS, "ps_suppkey": SUPPLIERS},
        {"ps_availqty": (0, 1, 30, 9999), "ps_supplycost": MONEY, "ps_comment": WORDS},
    ),
    "orders": Domain(
        50,
        {"o_orderkey": ORDERS},
        {
            "o_custkey": CUSTOMERS[:16],
            "o_orderstatus": ("F", "F", "O", "P"),
            "o_totalprice": MONEY,
            "o_orderdate": DATES,
            "o_orderpriority": ("1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW"),
            "o_clerk": ("Clerk#1", "Clerk#2"),
            "o_shippriority": (0, 1),
            "o_comment": WORDS,
        },
    ),
    "lineitem": Domain(
        280,
        {"l_orderkey": ORDERS, "l_linenumber": range(1, 8)},
        {
            "l_partkey": PARTS,
            "l_suppkey": SUPPLIERS,
            "l_quantity": tuple(map(Decimal, (1, 2, 11, 20, 24, 50, 100, 100))),
            "l_extendedprice": PRICES,
            "l_discount": tuple(map(Decimal, ("0.04", "0.05", "0.06", "0.07", "0.08"))),
            "l_tax": (Decimal("0.00"), Decimal("0.08")),
            "l_returnflag": ("R", "A", "N"),
            "l_linestatus": ("F", "O"),
            "l_shipdate": DATES,
            "l_commitdate": DATES[4:],
            "l_receiptdate": DATES,
            "l_shipinstruct": ("DELIVER IN PERSON", "NONE"),
            "l_shipmode": ("MAIL", "AIR"),
            "l_comment": WORDS,
        },
    ),
}


class Edit(NamedTuple):
    """One thing that an epoch does: rows (or, to delete, keys) as dictionaries."""

    kind: Literal["insert", "delete", "upsert"]
    table: str
    rows: list[dict[str, Any]]


@dataclass
class Content:
    """A table as it is now: rows by key."""

    name: str
    rng: random.Random
    nulls: float

    def __post_init__(self) -> None:
        self.rows: dict[Row, dict[str, Any]] = {}
        self.domain = DOMAINS[self.name]
        self.keys = list(itertools.product(*self.domain.key.values()))

    def row(self, key: Row) -> dict[str, Any]:
        """A random row with a key."""
        null = self.rng.random
        rest = {c: None if null() < self.nulls else self.rng.choice(v) for c, v in self.domain.rest.items()}
        return dict(zip(self.domain.key, key, strict=True)) | rest

    def insert(self, count: int) -> Edit:
        """Rows whose keys are not there."""
        return self._put("insert", self._some([k for k in self.keys if k not in self.rows], count))

    def upsert(self, count: int) -> Edit:
        """Rows whose keys may be there."""
        return self._put("upsert", self._some(self.keys, count))

    def delete(self, count: int) -> Edit:
        """Rows that are there, whole or by their keys."""
        keys = self._some(list(self.rows), count)
        whole = [self.rows.pop(key) for key in keys]
        by_key = [{c: row[c] for c in self.domain.key} for row in whole]
        return Edit("delete", self.name, self.rng.choice([whole, by_key]))

    def _put(self, kind: Literal["insert", "upsert"], keys: list[Row]) -> Edit:
        made = {key: self.row(key) for key in keys}
        self.rows |= made
        return Edit(kind, self.name, list(made.values()))

    def _some(self, keys: list[Row], count: int) -> list[Row]:
        return self.rng.sample(keys, min(count, len(keys)))


class Changes:
    """What happens to the eight tables. `nulls`: how often a column that is no key is NULL."""

    def __init__(self, seed: int = 1, nulls: float = 0.0) -> None:
        self.rng = random.Random(seed)
        self.contents = {name: Content(name, self.rng, nulls) for name in DOMAINS}

    def initial(self) -> list[Edit]:
        """The first rows of every table."""
        return [content.insert(content.domain.rows) for content in self.contents.values()]

    def epoch(self, share: float = 0.1) -> list[Edit]:
        """Some edits of most tables, each of at most a share of the table's first rows."""
        edits = []
        for content in self.contents.values():
            most = max(1, round(share * content.domain.rows))
            for kind in self.rng.sample([content.insert, content.upsert, content.delete], self.rng.randint(1, 3)):
                edits.append(kind(self.rng.randint(1, most)))
        return [edit for edit in edits if edit.rows]
