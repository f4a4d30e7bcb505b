"""Sessions: visits that grow, meet and fall apart as clicks come in any order; a watermark, and what comes too late."""

import tempfile
from datetime import UTC, datetime, timedelta

import viewlet

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def at(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


def show(title: str, db: viewlet.Database) -> None:
    print(title)
    for who, start, end, clicks in sorted(db.table("visits").rows()):
        print(f"  {who}  {start:%H:%M} – {end:%H:%M}  clicks: {clicks}")


with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.sql(
        "CREATE TABLE clicks (id BIGINT, who STRING, at TIMESTAMP, PRIMARY KEY (id)) WATERMARK at DELAY INTERVAL 2 HOURS"
    )
    db.sql(
        "CREATE MATERIALIZED VIEW visits AS "
        "SELECT who, session_window.start AS start, session_window.end AS end, count(*) AS clicks "
        "FROM clicks GROUP BY who, session_window(at, '30 minutes')"
    )
    db.sql(
        "CREATE MATERIALIZED VIEW visitors AS SELECT who, count(*) AS visits, max(clicks) AS most FROM visits GROUP BY who"
    )

    db.insert("clicks", [(1, "ann", at(0)), (2, "ann", at(50)), (3, "bob", at(10))])
    show("two visits of ann:", db)

    db.insert("clicks", [(4, "ann", at(25))])
    show("a click between them joins them:", db)

    db.delete("clicks", [(4,)])
    show("without it they are two again:", db)

    db.insert("clicks", [(5, "bob", at(300))])  # so that the watermark is at 15:00, and earlier visits are closed
    with db.epoch() as e:
        e.insert("clicks", [(6, "ann", at(30)), (7, "bob", at(290))])
    print("late:", e.late, [row[0] for row in db.table("clicks_late").rows()])
    show("what is late changes no visit:", db)
    print("visitors:", sorted(db.table("visitors").rows()))

    print(db.explain("visits"))
    assert db.check().num_rows == 0
