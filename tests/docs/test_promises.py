"""No promise of the pages lacks a test; the numbers in them are those of the code."""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType

import pytest

from tests.docs import promises
from viewlet.loops.relax.network import Network

NUMBERS = {
    ("cluster.md", "A map of up to 100,000 rows is small"): ("compile.distribute.place:SMALL", 100_000),
    ("cluster.md", "Up to 256 KB of a map's delta"): ("engine.cluster.epoch_job:INLINE", 256 << 10),
    ("cluster.md", "one for each 64 MB of changes in files"): ("engine.cluster.runner:_SHARE", 64 << 20),
    ("cluster.md", "ranges of hashes of about 32 MB"): ("engine.cluster.slices:_SLICE", 32 << 20),
    ("cluster.md", "shows up to three"): ("warehouse.epoch.task_intake:_SHOWN", 3),
    ("folders.md", "An epoch ingests up to 64 MB of files"): ("source.files.listing:MOST_BYTES", 64 << 20),
    ("kafka.md", "20,000 messages an epoch"): ("source.events.read_kafka:MESSAGES", 20_000),
    ("loops.md", "after 10,000 rounds"): ("loops.language.syntax:MOST_ROUNDS", 10_000),
    ("loops.md", "has not settled after 1,000 rounds"): ("loops.language.syntax:MOST_SETTLING", 1_000),
    (
        "loops.md",
        "if more than half of the inputs' rows change, or one in sixteen while the graph is not in memory yet",
    ): ("loops.maintained:_MANY", {Network: 2, type(None): 16}),
    ("loops.md", "more than one in eight edges starts at changed vertices"): ("loops.gather.sums:FULL", 8),
    ("loops.md", "From the third second on"): ("loops.rounds.checkpoints:AFTER", 2.0),
    ("matrix.md", "from 2²⁴ entries on (128 MB of float64)"): ("matrix.blocks.evaluate:RESIDENT", 1 << 24),
    ("matrix.md", "if they are at most half"): ("matrix.delta.entrywise:MOST", 0.5),
    ("matrix.md", "A residual is checked every eighth refresh"): ("matrix.refresh.health:BLOCKS", 8),
    ("notebooks.md", "a line a second, at INFO"): ("progress:_LINE", 1.0),
    ("page.md", "the page keeps the last 10,000"): ("ui.watcher:MOST_EPOCHS", 10_000),
    ("page.md", "The last 200 epochs that were rejected"): ("warehouse.epoch.failures:_MOST", 200),
    ("postgres.md", "about 20,000 changes at a time"): ("source.postgres.replication:CHANGES", 20_000),
    ("warehouse.md", "More than 262,144 of them"): ("intake.pieces:PIECE", 262_144),
    ("warehouse.md", "By default the changes of the last 1,000 epochs"): (
        "store.log.retention:Retention.epochs",
        1_000,
    ),
    ("warehouse.md", "After 1,000 records, or 64 MB"): ("store.limits:Limits.segment_records", 1_000),
    ("warehouse.md", "1,000 records, or 64 MB, the log continues"): ("store.limits:Limits.segment_bytes", 64 << 20),
    ("warehouse.md", "Files stay for a minute"): ("store.limits:Limits.grace_seconds", 60.0),
    ("warehouse.md", "are kept for 1,000 epochs"): ("store.limits:Limits.history_epochs", 1_000),
    ("warehouse.md", "another can take over after 30 seconds"): ("store.limits:Limits.lease_seconds", 30.0),
    ("warehouse.md", "its size (32 GB)"): ("store.storage.cache:_ROOM", 32 << 30),
    ("warehouse.md", "seven times in all"): ("store.storage.bucket:_ATTEMPTS", 7),
}
"""What a page says, where the code has the number, and which it is."""


def test_every_promise_has_a_test() -> None:
    assert list(promises.unlisted()) == [], f"each needs a line in {promises.TABLE}"


@pytest.mark.parametrize(("said", "number"), NUMBERS.items(), ids=[said for _, said in NUMBERS])
def test_numbers_are_those_of_the_code(said: tuple[str, str], number: tuple[str, object]) -> None:
    page, text = said
    place, expected = number
    module, _, name = place.partition(":")
    assert _value(import_module(f"viewlet.{module}"), name) == expected
    assert text in promises.text(page)


def _value(module: ModuleType, name: str) -> object:
    """A number of a module, or the one that a class has unless told otherwise."""
    owner, _, field = name.partition(".")
    return getattr(getattr(module, owner)(), field) if field else getattr(module, owner)


def test_figures_of_the_readme_are_those_of_the_pages() -> None:
    readme, costs, tpch = (promises.text(page) for page in ("README.md", "costs.md", "tpch.md"))
    (table,) = re.findall(r"^```\n(view  .*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert table in costs
    epoch = table.splitlines()[-1].split("  ")
    claimed = re.search(r"in (\d+ ms) .*? takes ([\d.]+ s) to recompute them", readme)
    assert claimed is not None
    assert set(claimed.groups()) <= {cell.strip() for cell in epoch}
    times = re.search(r"is (\d+) times faster than recomputing with Spark SQL for the median query", readme)
    assert times is not None
    found = re.search(r"^\| 200\+200 \| ([\d.]+)×", tpch, re.MULTILINE)
    assert found is not None
    assert round(float(found[1])) == int(times[1])
