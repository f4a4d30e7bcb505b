"""The paper's programs, and finding people: after every increment, each equals a plain computation of everything."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter, defaultdict
from typing import Any

import pytest
from examples.flows.crawl import crawl, crawl_queue, site_of
from examples.flows.cube import data_cube
from examples.flows.median import median_flow
from examples.flows.people import PEOPLE, who_is_who
from examples.flows.windows import ORDERS, PAYMENTS, join_view, recent, same_day

import viewlet


def queue_of(crawls: list[list[tuple[str, str]]]) -> dict[str, float]:
    """The crawl queue, computed from all pages."""
    fetched = {url for pages in crawls for url, _ in pages}
    urls: Counter[str] = Counter()
    sites: Counter[str] = Counter()
    scores: dict[str, float] = {}
    for pages in crawls:
        links = [part.split('"')[0] for _, text in pages for part in text.split('href="')[1:]]
        urls.update(links)
        sites.update(map(site_of, links))
        scores |= {url: urls[url] + sites[site_of(url)] / 10 for url in links}
    return {url: score for url, score in scores.items() if score >= 3 and url not in fetched}


def test_the_crawl_queue(db: viewlet.Database) -> None:
    db.create_flow(crawl_queue())
    rng = random.Random(5)
    crawls = []
    for number in range(6):
        pages = crawl(rng, 40, 6, 0 if number == 3 else 4) if number != 3 else [("http://s1.example/1", "no links")]
        crawls.append(pages)
        db.run_flow("crawl", {"pages": pages})
        assert dict(db.table("crawl_queue").rows()) == pytest.approx(queue_of(crawls))
    assert len(db.table("crawl_queue")) > 50
    counts = dict(Counter(db.table("crawl_count_in_links").arrow()["url"].to_pylist()))
    assert set(counts.values()) - {counts.get(None)} == {1}


def test_the_median(db: viewlet.Database) -> None:
    db.create_flow(median_flow())
    rng = random.Random(3)
    numbers: list[int] = []
    for increment in range(1, 8):
        more = [int(rng.gauss(50 * increment, 30)) for _ in range(rng.choice([1, 2, 15]))]
        numbers += more
        db.run_flow("median", {"numbers": [(n,) for n in more]})
        assert dict(db.table("medians").rows())[increment] == sorted(numbers)[(len(numbers) - 1) // 2]


def test_increments_of_the_median_that_wait_are_told_one_by_one(db: viewlet.Database) -> None:
    db.create_flow(median_flow())
    for more in ([5], [1, 2], [100, 200, 300]):
        db.run_flow("median", {"numbers": [(n,) for n in more]}, runs=0)
    db.run_flow("median")
    assert sorted(db.table("medians").rows()) == [(1, 5), (2, 2), (3, 5)]


CUBOIDS = ("", "day", "hour", "day,hour")


def cube_of(rows: list[tuple[int, int, int]]) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Every group of every cuboid, with its count and sum."""
    amounts: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for day, hour, amount in rows:
        for cuboid in CUBOIDS:
            parts = cuboid.split(",")
            amounts[cuboid, day if "day" in parts else None, hour if "hour" in parts else None].append(amount)
    return {group: (len(found), sum(found)) for group, found in amounts.items()}


def answer(rows: list[tuple[int, int, int]], query: tuple[int, str, list[int], list[int]]) -> tuple[int, int, int]:
    number, cuboid, days, hours = query
    found = [
        amount
        for day, hour, amount in rows
        if ("day" not in cuboid or day in days) and ("hour" not in cuboid or hour in hours)
    ]
    return number, len(found), sum(found)


def test_the_data_cube_and_its_queries(db: viewlet.Database) -> None:
    db.create_flow(data_cube())
    rng = random.Random(8)
    rows: list[tuple[int, int, int]] = []
    expected = []
    for number in range(5):
        more = [(rng.randrange(7), rng.randrange(24), rng.randrange(-50, 50)) for _ in range(60)]
        queries = [
            (number * 10 + at, rng.choice(CUBOIDS), rng.sample(range(7), 3), rng.sample(range(24), 5))
            for at in range(4)
        ]
        expected += [answer(rows, query) for query in queries]  # queries go first
        db.run_flow("cubes", {"rows": more, "queries": queries})
        rows += more
        assert {tuple(row[:3]): tuple(row[3:]) for row in db.table("cube").rows()} == cube_of(rows)
        assert sorted(db.table("results").rows()) == sorted(expected)


def test_a_join_that_follows_its_tables(db: viewlet.Database) -> None:
    db.create_table("orders", ORDERS, primary_key="id")
    db.create_table("payments", PAYMENTS, primary_key="id")
    db.create_flow(join_view())
    rng = random.Random(2)
    day = dt.date(2026, 1, 1)
    for _ in range(8):
        with db.epoch() as e:
            for name, width in (("orders", 15), ("payments", 40)):
                there = [row[0] for row in db.table(name).rows()]
                gone = rng.sample(there, min(len(there), 3))
                e.delete(name, [(key,) for key in gone])
                keys = rng.sample([k for k in range(width) if k not in gone], 5)
                made = [(k, "abc"[k % 3 if rng.random() < 0.8 else 0], day, k) for k in keys]
                e.upsert(
                    name, made if name == "orders" else [(k, rng.randrange(15), day, rng.randrange(9)) for k in keys]
                )
        db.run_flow("join_view")
        orders = {row[0]: row[1] for row in db.table("orders").rows()}
        joined = [(o, orders[o], p, paid) for p, o, _, paid in db.table("payments").rows() if o in orders]
        assert sorted(db.table("joined").rows()) == sorted(joined)
    assert joined


def test_a_join_by_day_and_a_sliding_window(db: viewlet.Database) -> None:
    db.create_flow(same_day())
    db.create_flow(recent())
    rng = random.Random(4)
    days = [dt.date(2026, 3, 1) + dt.timedelta(days=n) for n in (0, 1, 2, 5, 6, 7, 8)]
    orders: list[Any] = []
    payments: list[Any] = []
    for at, day in enumerate(days):
        more = [(at * 10 + n, rng.choice("xyz"), day, rng.randrange(100)) for n in range(6)]
        paid = [(at * 10 + n, at * 10 + rng.randrange(-6, 6), day, 1) for n in range(5)] if at != 3 else []
        orders, payments = orders + more, payments + paid
        half = len(more) // 2  # a day comes in two pieces
        db.run_flow("same_day", {"orders": more[:half], "payments": paid})
        db.run_flow("same_day", {"orders": more[half:]})
        db.run_flow("recent", {"orders": more[:half]})
        db.run_flow("recent", {"orders": more[half:]})
        complete = days[:at]  # a day is complete when the next one begins
        both = min(day, payments[-1][2])
        matched = [(d, o, p) for o, _, d, _ in orders for p, i, e, _ in payments if i == o and e == d and d < both]
        assert sorted(db.table("matched").rows()) == sorted(matched)
        sums: Counter[tuple[dt.date, str]] = Counter()
        for n, last in enumerate(complete):
            for _, customer, d, amount in orders:
                if d in days[max(0, n - 2) : n + 1]:
                    sums[last, customer] += amount
        assert {(d, c): a for d, c, a in db.table("recent_sums").rows()} == sums


def persons_of(people: list[tuple[int, str, str | None, str | None]]) -> dict[int, int]:
    """The least record of everybody that each record is connected with, through any number of others."""
    person = {row[0]: row[0] for row in people}
    changed = True
    while changed:
        changed = False
        for a in people:
            for b in people:
                same = (a[2] is not None and a[2] == b[2]) or (a[3] is not None and a[3] == b[3])
                if same and person[a[0]] < person[b[0]]:
                    person[b[0]] = person[a[0]]
                    changed = True
    return person


def test_people_are_found_taken_apart_and_found_again(db: viewlet.Database) -> None:
    db.create_table("people", PEOPLE, primary_key="id")
    db.create_flow(who_is_who())
    rng = random.Random(9)
    merged = 0
    for _ in range(12):
        there = [row[0] for row in db.table("people").rows()]
        gone = rng.sample(there, min(len(there), rng.choice([0, 1, 4])))
        keys = rng.sample([key for key in range(30) if key not in gone], rng.choice([1, 3, 6]))
        records = [
            (key, f"n{key}", rng.choice([None, f"m{rng.randrange(12)}"]), rng.choice([None, f"p{rng.randrange(12)}"]))
            for key in keys
        ]
        with db.epoch() as e:
            e.delete("people", [(key,) for key in gone])
            e.upsert("people", records)
        db.run_flow("who")
        expected = persons_of(db.table("people").rows())
        assert dict(db.table("persons").rows()) == expected
        merged += len(expected) - len(set(expected.values()))
    assert merged > 20
    with db.epoch() as e:
        e.delete("people", [(row[0],) for row in db.table("people").rows()])
    db.run_flow("who")
    assert [len(db.table(name)) for name in ("persons", "who_label", "who_match", "who_members")] == [0] * 4
