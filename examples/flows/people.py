"""Who is who: records of people from several feeds that share an e-mail address or a telephone number are one person.

    people → identify → match ─links→ label ─changes→ members
                                       ↺ spread   ↖─resets──┘

Records are corrected and withdrawn, so that people who were taken for one can turn out to be two. `match` keeps, for
each identifier, the records that have it, and links neighbours among them. `label` gives every record the least record
that it can reach, by spreading labels along links, round by round. Where links change, `members` has everybody who
shares a label with either end begin again: labels only ever get less, so that is the way to take one back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import viewlet
from viewlet import flow

Row = dict[str, Any]
PEOPLE = "id BIGINT, name STRING, email STRING, phone STRING"
GONE = ("delete", "update_preimage")


def who_is_who() -> flow.Flow:
    """Reads table `people`, whose key is `id`; table `persons` says which person each record is of."""
    who = flow.Flow("who")
    who.source("people")
    who.row_wise("people", {"identifiers": "identifier STRING, id BIGINT, is_gone BOOLEAN"})(identify)
    who.stage(
        inputs={"identifiers": "identifier"},
        outputs={"links": "id BIGINT, other BIGINT, identifier STRING, is_gone BOOLEAN"},
        state=flow.State("identifier STRING, id BIGINT", route_by="identifier"),
    )(match)
    persons = flow.Output("id BIGINT, person BIGINT, _change_type STRING", table="persons", primary_key="id")
    who.stage(
        inputs={"links": "id", "resets": "id", "labels": "id"},
        outputs={
            "labels": "id BIGINT, label BIGINT",
            "moves": "label BIGINT, id BIGINT, what STRING",
            "persons": persons,
        },
        state=flow.State("id BIGINT, label BIGINT, other BIGINT, identifier STRING", route_by="id"),
        runnable=one_thing_after_the_other,
    )(label)
    who.stage(
        inputs={"moves": "label"},
        outputs={"resets": "id BIGINT"},
        state=flow.State("label BIGINT, id BIGINT", route_by="label"),
    )(members)
    return who


def identify(row: Row) -> Iterator[Row]:
    """What a record can be known by: itself, too, so that every record has a label."""
    known = [f"record {row['id']}", row["email"] and f"mail {row['email']}", row["phone"] and f"phone {row['phone']}"]
    for identifier in filter(None, known):
        yield {"identifier": identifier, "id": row["id"], "is_gone": row["_change_type"] in GONE}


def match(identifier: str, inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    before = {row["id"] for row in state}
    now = before - {row["id"] for row in inputs["identifiers"] if row["is_gone"]}
    now |= {row["id"] for row in inputs["identifiers"] if not row["is_gone"]}
    yield from (("state", (identifier, record)) for record in now)
    old, new = links_of(before), links_of(now)
    yield from (("links", (*link, identifier, True)) for link in old - new)
    yield from (("links", (*link, identifier, False)) for link in new - old)


def links_of(records: Iterable[int]) -> set[tuple[int, int]]:
    """Neighbours in the order of their numbers, both ways; a record alone is linked to itself."""
    ordered = sorted(records)
    if len(ordered) == 1:
        return {(ordered[0], ordered[0])}
    return {link for a, b in pairwise(ordered) for link in ((a, b), (b, a))}


def one_thing_after_the_other(waiting: Mapping[str, flow.Waiting], asked: bool | None) -> flow.Decision | None:
    """Links change only while no label is on its way, and then everybody concerned begins again."""
    if waiting["resets"].length:
        return flow.Decision.of(["resets"], state=False)
    if waiting["labels"].length:
        return flow.Decision.of(["labels"], state=asked)
    return flow.Decision.of(["links"], state=True) if waiting["links"].length and not asked else None


def label(record: int, inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    known = state[0]["label"] if state else None
    links = {(row["other"], row["identifier"]) for row in state}
    now = known
    if inputs["links"]:
        links -= {(row["other"], row["identifier"]) for row in inputs["links"] if row["is_gone"]}
        links |= {(row["other"], row["identifier"]) for row in inputs["links"] if not row["is_gone"]}
        now = record if known is None else known
        yield "moves", (now, record, "begin again" if links else "withdraw")
    if inputs["resets"]:
        now = record
    if inputs["labels"] and now is not None:
        now = min(now, *(row["label"] for row in inputs["labels"]))
    if not links:
        if known is not None:
            yield "persons", (record, known, "delete")
        return
    yield from (("state", (record, now, *link)) for link in links)
    if now != known:
        yield from (("moves", (left, record, "leave")) for left in (known,) if left is not None)
        yield "moves", (now, record, "join")
        yield "persons", (record, now, "insert")
    if now != known or inputs["resets"]:
        yield from (("labels", (other, now)) for other, _ in links if other != record)


def members(key: int, inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
    records = {row["id"] for row in state}
    for row in inputs["moves"]:
        (records.discard if row["what"] in ("leave", "withdraw") else records.add)(row["id"])
    yield from (("state", (key, record)) for record in records)
    asking = {row["id"] for row in inputs["moves"] if row["what"] in ("begin again", "withdraw")}
    if asking:  # who was withdrawn is told as well: `label` waits for an answer
        yield from (("resets", (record,)) for record in records | asking)


def main() -> None:
    """Two people who share a telephone with a third are one, until that record is corrected."""
    with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
        db.create_table("people", PEOPLE, primary_key="id")
        db.create_flow(who_is_who())
        db.insert(
            "people", [(1, "Ann", "ann@x.org", None), (2, "A. Lee", None, "555"), (3, "Ann Lee", "ann@x.org", "555")]
        )
        db.run_flow("who")
        print("one person:", sorted(db.table("persons").rows()))
        db.upsert("people", [(3, "Bob Lee", "bob@x.org", "555")])
        db.run_flow("who")
        print("two people:", sorted(db.table("persons").rows()))


if __name__ == "__main__":
    main()
