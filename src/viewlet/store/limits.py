"""The sizes at which the store changes its ways. They change the speed, never the contents."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds of the store, with defaults for two cores and a local disk."""

    inline_bytes: int = 256 << 10  # runs of an epoch that together stay below this go into its record
    segment_bytes: int = 32 << 20  # a log segment larger than this is followed by a new one
    live_share: float = 0.25  # inline runs are carried out of a segment of which less than this is alive
    fan: int = 4  # so many runs of one size become one of the next
    first_level_rows: int = 256  # runs up to this count as one size
    commit_merge_rows: int = 8_192  # merges up to this happen within the commit, larger ones in the background
    recent_rows: int = 65_536  # rows of a table beyond this move from Arrow to Parquet
    recent_bytes: int = 8 << 20
    gone_share: float = 0.2  # a table is rewritten when more than this share of its rows was taken away
    largest_run: int = 512 << 20  # runs of this many bytes are not merged further
    grace_seconds: float = 60.0  # superseded files stay this long for readers in other processes
    retain_epochs: int = 1_000  # epochs whose changes and records are kept, unless the catalog says otherwise
