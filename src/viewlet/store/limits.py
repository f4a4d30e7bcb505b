"""Thresholds of the store. They affect speed, never contents."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.columns.parallel import CORES

WRITERS = min(CORES, 4)
"""Files of a table that are written in parallel during a load; each holds one piece in memory."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds of the store, with defaults for two cores and a local disk."""

    inline_bytes: int = 256 << 10  # larger runs go to files instead of the epoch's record,
    inline_most: int = 8 << 20  # except up to this if their bag is larger still: they will soon be merged away
    record_bytes: int = 16 << 20  # runs of one record that together exceed this go to files, largest first
    ahead_bytes: int = 512 << 10  # more rows of a table than this are written while the views are refreshed
    ahead_rows: int = 4_096  # and so are at least this many rows of a table's index
    segment_records: int = 1_000  # a log segment with more records than this is followed by a new one,
    segment_bytes: int = 64 << 20  # and so is a larger one
    closing_share: float = 0.1  # this share of either suffices on closing, so that opening is quick
    live_share: float = 0.25  # inline runs are carried out of a segment of which less than this share is live
    fan: int = 4  # this many runs of one size level are merged into one of the next
    first_level_rows: int = 256  # runs up to this size are on the lowest level
    commit_merge_rows: int = 8_192  # merges up to this size, and inline, are part of the commit; others run later
    index_runs: int = 16  # this many small runs of a table's index, which are searched together, are merged into one
    recent_runs: int = 64  # this many of the smallest runs of a table's recent rows are merged into one
    recent_rows: int = 131_072  # more rows of a table than this are stored in Parquet instead of Arrow
    recent_bytes: int = 32 << 20
    gone_share: float = 0.2  # a table is rewritten when more than this share of its rows was deleted
    largest_run: int = 512 << 20  # merges make runs of about this size; one of a `fan`-th of it is left as it is,
    largest_row: int = 1 << 20  # and so is one whose rows have this many bytes each
    grace_seconds: float = 60.0  # superseded files are kept this long for readers in other processes
    lease_seconds: float = 30.0  # a writer of an object store that has not renewed its lease for this long is gone
    history_epochs: int = 1_000  # epochs whose records are kept
