"""Durable state: bags as sums of immutable runs, the log of commits, snapshots, recovery."""

from viewlet.store.access.affected_ranges import AffectedRanges
from viewlet.store.access.ranges import Bound
from viewlet.store.backup import Backup, backups, restore
from viewlet.store.contents import Contents
from viewlet.store.files import GoneFile
from viewlet.store.limits import Limits
from viewlet.store.log.recovery import Recovery
from viewlet.store.open_contents import make_contents, open_contents
from viewlet.store.runs.layout import Layout
from viewlet.store.runs.runs import RunRef
from viewlet.store.runs.write_runs import write_run, write_runs
from viewlet.store.store import Snapshot, Store
from viewlet.store.table_contents import TableContents
from viewlet.store.transaction import Transaction

__all__ = [
    "AffectedRanges",
    "Backup",
    "Bound",
    "Contents",
    "GoneFile",
    "Layout",
    "Limits",
    "Recovery",
    "RunRef",
    "Snapshot",
    "Store",
    "TableContents",
    "Transaction",
    "backups",
    "make_contents",
    "open_contents",
    "restore",
    "write_run",
    "write_runs",
]
