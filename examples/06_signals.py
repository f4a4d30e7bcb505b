"""Vibration of machines: a signal between two SQL views, fresh after every epoch, whatever comes late."""

import tempfile
from datetime import UTC, datetime, timedelta

import numpy as np
import scipy.signal

import viewlet

START = datetime(2026, 1, 1, tzinfo=UTC)


def measured(machine: str, seconds: range, hum: float) -> list[tuple[str, datetime, float]]:
    """Readings, ten a second: a hum of 2 Hz."""
    ticks = np.arange(seconds.start * 10, seconds.stop * 10)
    shaken = hum * np.sin(2 * np.pi * 2 * ticks / 10)
    return [
        (machine, START + timedelta(milliseconds=100 * int(t)), float(x)) for t, x in zip(ticks, shaken, strict=True)
    ]


def show(title: str, db: viewlet.Database) -> None:
    print(title)
    for machine, rms, windows in sorted(db.table("alarms").rows()):
        print(f"  {machine}: {rms:.2f} in {windows} windows")


with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.sql("CREATE TABLE vibration (machine STRING, at TIMESTAMP, mm DOUBLE, PRIMARY KEY (machine, at))")
    db.sql("CREATE TABLE maintenance (machine STRING, done TIMESTAMP, PRIMARY KEY (machine))")
    db.sql(
        "CREATE MATERIALIZED VIEW since_maintenance AS SELECT v.machine, v.at, v.mm "
        "FROM vibration v JOIN maintenance m ON v.machine = m.machine WHERE v.at >= m.done"
    )

    band = scipy.signal.butter(2, [1.5, 2.5], "bandpass", fs=10, output="sos")
    hum = db.signal("since_maintenance", by="machine", time="at", value="mm").sample("100 ms", max_gap="1 s").iir(band)
    db.create_signal("loudness", hum.windows(50).reduce("rms"))
    db.sql(
        "CREATE MATERIALIZED VIEW alarms AS SELECT machine, max(mm) AS rms, count(*) AS windows "
        "FROM loudness WHERE mm > 1 GROUP BY machine"
    )

    with db.epoch() as e:
        e.insert("maintenance", [("press", START), ("saw", START)])
        e.insert("vibration", measured("press", range(60), 0.5) + measured("saw", range(60), 2.0))
    show("the saw hums:", db)

    db.insert("vibration", measured("saw", range(60, 80), 4.0))
    show("it gets worse:", db)

    db.upsert("vibration", measured("saw", range(70, 75), 9.0))  # corrected, long after they were read
    show("some readings were too low:", db)

    db.upsert("maintenance", [("saw", START + timedelta(seconds=75))])
    show("it was repaired:", db)

    print(db.explain("loudness"))
