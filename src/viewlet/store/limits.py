"""The sizes at which the store changes its ways. They change the speed, never the contents."""

from __future__ import annotations

from dataclasses import dataclass

from viewlet.columns.parallel import CORES

WRITERS = min(CORES, 4)
"""Files of a table that are written at once while rows come: each holds a piece of them in memory."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds of the store, with defaults for two cores and a local disk."""

    inline_bytes: int = 256 << 10  # a run up to this goes into its epoch's record, a larger one to a file,
    inline_most: int = 8 << 20  # except up to this where its bag is larger still: it will be merged away soon
    record_bytes: int = 16 << 20  # runs that together exceed this go to files, too, the largest first
    ahead_bytes: int = 512 << 10  # rows of a table beyond this are written while views are brought up to date
    ahead_rows: int = 4_096  # and so are the rows of a table's index, if there are so many
    segment_records: int = 1_000  # a log segment with more records than this is followed by a new one,
    segment_bytes: int = 64 << 20  # and so is one that is larger than this
    closing_share: float = 0.1  # so much of either is enough when the warehouse is closed: opening it is quick then
    live_share: float = 0.25  # inline runs are carried out of a segment of which less than this is alive
    fan: int = 4  # so many runs of one size become one of the next
    first_level_rows: int = 256  # runs up to this count as one size
    commit_merge_rows: int = 8_192  # merges up to this, and inline, are part of the commit, others in the background
    index_runs: int = 16  # so many small runs of a table's index, which are searched together, become one
    recent_runs: int = 64  # so many of the smallest runs of a table's recent rows become one
    recent_rows: int = 131_072  # rows of a table beyond this are in Parquet, not in Arrow
    recent_bytes: int = 32 << 20
    gone_share: float = 0.2  # a table is rewritten when more than this share of its rows was taken away
    largest_run: int = 512 << 20  # merges make runs of so many bytes; those of a `fan`-th of it are not merged further,
    largest_row: int = 1 << 20  # and neither are those whose rows have this many bytes each
    grace_seconds: float = 60.0  # superseded files stay this long for readers in other processes
    lease_seconds: float = 30.0  # a writer of an object store that was not heard of for so long has ended
    history_epochs: int = 1_000  # epochs whose records are kept
