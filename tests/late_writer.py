"""A process that writes epochs with a row in time and a late one each until it is killed; what they are follows from n."""

from __future__ import annotations

import datetime as dt
import sys

import viewlet

START = dt.datetime(2024, 5, 1, 12, 0, tzinfo=dt.UTC)


def main(path: str) -> None:
    with viewlet.connect(path, engine="inproc") as db:
        while True:
            number = db.status()["epoch"] + 1
            now = START + dt.timedelta(minutes=number)
            db.insert("clicks", [(number, "in time", now), (-number, "late", now - dt.timedelta(days=1))])
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
