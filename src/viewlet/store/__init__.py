"""Durable state: bags as sums of immutable runs, the log of commits, snapshots, recovery."""

from viewlet.store.contents import Contents
from viewlet.store.files import GoneFile
from viewlet.store.layout import Layout
from viewlet.store.limits import Limits
from viewlet.store.opening import make_contents, open_contents
from viewlet.store.ranges import Bound
from viewlet.store.recovery import Recovery
from viewlet.store.runs import RunRef
from viewlet.store.store import Snapshot, Store
from viewlet.store.stretches import Stretches
from viewlet.store.tablecontents import TableContents
from viewlet.store.transaction import Transaction
from viewlet.store.writing import write_run, write_runs

__all__ = [
    "Bound",
    "Contents",
    "GoneFile",
    "Layout",
    "Limits",
    "Recovery",
    "RunRef",
    "Snapshot",
    "Store",
    "Stretches",
    "TableContents",
    "Transaction",
    "make_contents",
    "open_contents",
    "write_run",
    "write_runs",
]
