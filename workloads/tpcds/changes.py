"""A small database that makes every query answer, and random epochs over all of its tables.

Each column draws its values from a domain around what the queries ask for. Keys are drawn like any other column,
from few numbers, so that rows find each other without care: a drawn row whose key is taken is an update, and what
refers to a number that was never drawn, or that was deleted, refers to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any, Literal

import pyarrow as pa

from viewlet.plan.types import Field
from workloads.tpcds import TABLES
from workloads.tpcds.data import SCHEMAS

Row = dict[str, Any]
Key = tuple[Any, ...]
FACTS = {
    "store_sales": 6_000, "store_returns": 1_000, "catalog_sales": 800, "catalog_returns": 1_200, "web_sales": 500,
    "inventory": 1_500,
}  # fmt: skip
"""How often a row of each is drawn at first; of the other tables, a few times for each of their keys."""
DAYS = [
    date.fromisoformat(day)
    for day in (
        "1998-06-01", "1998-11-02", "1998-11-14", "1999-02-28", "1999-03-01", "1999-11-01", "1999-11-27",
        "2000-02-26", "2000-03-02", "2000-03-13", "2000-04-01", "2000-05-28", "2000-06-26", "2000-11-01",
        "2000-11-26", "2000-12-25", "2001-01-01", "2001-01-06", "2001-01-27", "2001-03-05", "2001-03-06",
        "2001-04-01", "2001-05-26", "2001-08-02", "2001-08-27", "2002-03-04", "2002-03-05", "2002-06-15", "2002-11-02",
    )
]  # fmt: skip
DAY_ZERO = date(1900, 1, 1)
FIRST_KEY = 2415021
"""The Julian day of the first of January 1900: what the specification numbers days with."""
KEYS = {
    "call_center_sk": 3, "promo_sk": 5, "reason_sk": 3, "ship_mode_sk": 4, "store_sk": 6, "time_sk": 8,
    "warehouse_sk": 3, "_sk": 40,
}  # fmt: skip
"""How many keys there are, by the ending of a column's name; the first that fits counts."""
DOMAINS: dict[str, tuple[Any, ...]] = {
    "ca_city": ("Midway", "Fairview", "Oakland"),
    "ca_country": ("United States",),
    "ca_gmt_offset": (Decimal("-7.00"), Decimal("-7.00"), Decimal("-5.00")),
    "ca_state": ("TX", "TX", "TX", "OH", "OR", "KY", "VA", "CA"),
    "ca_zip": ("85669", "86197-1234", "30059", "35709", "60169"),
    "cd_education_status": ("College", "College", "Advanced Degree", "Unknown", "2 yr Degree", "4 yr Degree"),
    "cd_gender": ("M", "M", "F"),
    "cd_marital_status": ("S", "S", "M", "M", "W", "D"),
    "hd_buy_potential": (">10000", "Unknown", "Unknown", "0-500"),
    "hd_dep_count": (1, 1, 1, 3, 4, 6, 7),
    "hd_vehicle_count": (-1, 0, 1, 2, 3, 4),
    "i_brand": ("scholaramalgamalg #14", "exportiunivamalg #9", "amalgimporto #1", "importoamalg #1"),
    "i_brand_id": (1, 2, 3, 4),
    "i_category": ("Books", "Electronics", "Sports", "Home", "Men", "Women"),
    "i_class": ("personal", "portable", "classical", "pants", "computers", "football", "shirts", "dresses"),
    "i_current_price": tuple(Decimal(text) for text in ("0.99", "1.20", "1.49", "50.00", "68.00", "75.00", "92.00")),
    "i_manager_id": (1, 8, 28),
    "i_manufact_id": (128, 677, 940, 694, 129, 270, 821),
    "inv_quantity_on_hand": (50, 100, 200, 300, 500, 900),
    "p_channel_email": ("N", "Y"),
    "p_channel_event": ("N", "Y"),
    "r_reason_desc": ("reason 28", "reason 1"),
    "s_city": ("Midway", "Fairview", "Oakland"),
    "s_county": ("Williamson County", "Williamson County", "Bronx County"),
    "s_gmt_offset": (Decimal("-5.00"), Decimal("-5.00"), Decimal("-6.00")),
    "s_number_employees": (150, 200, 250, 295),
    "s_state": ("TN", "TN", "TX"),
    "s_store_name": ("ese", "ese", "able", "ation"),
    "s_zip": ("35709", "30059"),
    "t_hour": (20, 20, 20, 8),
    "t_minute": (15, 30, 45),
    "w_warehouse_name": ("Bad cards must make. More often than not", "Conventional childr"),
}  # fmt: skip
WORDS = ("able", "anti", "bar", "cally", "eing", "ese", "ought", "pri")
OF_A_TICKET = ("sold_date_sk", "sold_time_sk", "customer_sk", "cdemo_sk", "hdemo_sk", "addr_sk", "store_sk")
PRICES = [Decimal(cents).scaleb(-2) for cents in (*range(1, 600, 41), *range(1_000, 25_000, 787), 55_000)]
"""None is zero, so that nothing is divided by a sum of zero."""
TICKETS = 600
"""So many at most; the lower the number, the more lines."""
GAPS = 0.04
"""The share of values that are missing, where they may be."""


@dataclass(frozen=True, slots=True)
class Change:
    """Rows for one table; a deletion gives whole rows or keys alone."""

    action: Literal["insert", "delete", "upsert"]
    table: str
    rows: pa.Table


class Shop:
    """The rows that are there, and a source of more."""

    def __init__(self, seed: int = 1) -> None:
        self.rng = Random(seed)
        self.rows: dict[str, dict[Key, Row]] = {name: {} for name in TABLES}

    def fill(self) -> dict[str, pa.Table]:
        """The first rows of every table."""
        for name, rows in self.rows.items():
            rows.update(self._draw(name, FACTS.get(name, 3 * _size(name))))
        return {name: _arrow(name, list(rows.values())) for name, rows in self.rows.items()}

    def epoch(self) -> list[Change]:
        """Some rows come, go and change in every table."""
        return [change for name in TABLES for change in self._changes(name, FACTS.get(name, 100) // 100)]

    def _changes(self, name: str, count: int) -> list[Change]:
        rows = self.rows[name]
        gone = {key: rows.pop(key) for key in self.rng.sample(sorted(rows), min(count, len(rows)))}
        new = {key: row for key, row in self._draw(name, count).items() if key not in rows}
        rows |= new
        drawn = self._draw(name, count)
        rows |= drawn
        by_key = self.rng.random() < 0.5
        return [
            Change("delete", name, _arrow(name, list(gone.values()), only_keys=by_key)),
            Change("insert", name, _arrow(name, list(new.values()))),
            Change("upsert", name, _arrow(name, list(drawn.values()))),
        ]

    def _draw(self, name: str, count: int) -> dict[Key, Row]:
        drawn = (self._row(name) for _ in range(count))
        return {tuple(row[column] for column in TABLES[name].primary_key): row for row in drawn}

    def _row(self, name: str) -> Row:
        row = {f.name: _value(f, self.rng) for f in TABLES[name].fields}
        if name == "date_dim":
            row |= self._calendar(_day(row["d_date_sk"]))
        if name in ("store_sales", "store_returns"):
            row |= self._ticket(name, row)
        return row

    def _calendar(self, day: date) -> Row:
        """What a day's number says; some of it gets lost, but never the month, which has to be unique."""
        known = {
            "d_date": day, "d_week_seq": (day - DAY_ZERO).days // 7 + 1, "d_year": day.year,
            "d_dow": day.isoweekday() % 7, "d_moy": day.month, "d_dom": day.day, "d_qoy": (day.month + 2) // 3,
            "d_day_name": f"{day:%A}",
        }  # fmt: skip
        kept = {name: value if self.rng.random() >= GAPS else None for name, value in known.items()}
        return kept | {"d_month_seq": (day.year - 1900) * 12 + day.month - 1}

    def _ticket(self, name: str, row: Row) -> Row:
        """Nearly always, the number of a ticket decides what its lines have in common."""
        common = _common(row["ss_ticket_number" if name == "store_sales" else "sr_ticket_number"])
        if self.rng.random() < GAPS:
            return {}
        return {column: common[column[3:]] for column in row if column[3:] in common}


@cache
def _common(ticket: int) -> Row:
    """What all lines of a ticket have in common, and their returns."""
    rng = Random(ticket)
    return {f.name[3:]: _value(f, rng) for f in TABLES["store_sales"].fields if f.name[3:] in OF_A_TICKET}


def _value(column: Field, rng: Random) -> Any:
    """A value from the column's domain; sometimes none, where that may be."""
    return None if column.nullable and rng.random() < GAPS else rng.choice(_domain(column))


@cache
def _domain(column: Field) -> Sequence[Any]:
    """The values that a column draws from: what the queries ask for, keys, or anything of its type."""
    if column.name in DOMAINS:
        return DOMAINS[column.name]
    if column.name.endswith("date_sk"):
        return [(day - DAY_ZERO).days + FIRST_KEY for day in DAYS]
    if column.name.endswith("_sk"):
        return range(1, _keys(column.name) + 1)
    if column.name.endswith(("ticket_number", "order_number")):
        return [1 + i * i // TICKETS for i in range(TICKETS)]
    if column.name.endswith("net_profit"):
        return [Decimal(cents).scaleb(-2) for cents in range(-5_000, 30_000, 613)]
    return {"string": WORDS, "date": DAYS, "decimal": PRICES}.get(column.type.name, range(1, 101))


def _keys(column: str) -> int:
    return next(count for ending, count in KEYS.items() if column.endswith(ending))


def _size(table: str) -> int:
    """How many rows a table of this kind can have."""
    return len(DAYS) if table == "date_dim" else _keys(TABLES[table].primary_key[0])


def _day(key: int) -> date:
    return DAY_ZERO + timedelta(key - FIRST_KEY)


def _arrow(name: str, rows: list[Row], *, only_keys: bool = False) -> pa.Table:
    made = pa.Table.from_pylist(rows, schema=SCHEMAS[name])
    return made.select(TABLES[name].primary_key) if only_keys else made
