"""A process that reads the sources of a warehouse, again and again, until it is killed."""

from __future__ import annotations

import sys

import viewlet


def main(path: str) -> None:
    with viewlet.connect(path) as db:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        for _ in db.watch(every=0.001):
            pass


if __name__ == "__main__":
    main(sys.argv[1])
