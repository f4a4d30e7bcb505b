"""The writing side of a store: one epoch at a time, merges in parallel, one log for both.

Every change of the state happens under one lock and ends with `_land`: places for the runs, a record, the next state.
Large merges do their work before they take the lock.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import RLock
from typing import Any

from viewlet.errors import StoreError
from viewlet.store.garbage import Sweeper, idle_files
from viewlet.store.limits import WRITERS, Limits
from viewlet.store.log.background import Flusher, Worker
from viewlet.store.log.commit_log import Lock, LogAppender
from viewlet.store.log.folder.rolling import roll
from viewlet.store.log.landing import Draft, place
from viewlet.store.log.record_json import encode_change
from viewlet.store.log.state import Bag, Change, State, apply, place_ref
from viewlet.store.runs.merge_runs import Elsewhere, Merge, Runs, choose_large, choose_small
from viewlet.store.runs.runs import Handles, Run, RunRef
from viewlet.store.runs.write_runs import name_after, save
from viewlet.store.transaction import Edit, Transaction

logger = logging.getLogger(__name__)

_LOOK = 8  # a merge of a table's recent runs is considered each time it has a multiple of this many runs


class Writer:
    """Holds the lock of a warehouse, its log and its current state."""

    def __init__(
        self, lock: Lock, log: LogAppender, handles: Handles, state: State, limits: Limits, group: int | None
    ) -> None:
        """`group`: milliseconds within which commits are synced together; None syncs each commit."""
        self.storage, self.handles, self.state, self.limits = handles.storage, handles, state, limits
        self._lock, self._log, self._opened_at = lock, log, log.end
        self._mutex = RLock()
        self._sweeper = Sweeper(handles)
        self._worker = Worker(self._work)
        self._flusher = None if group is None else Flusher(self._log.sync, group)
        self._transaction: Transaction | None = None
        self.ahead = ThreadPoolExecutor(WRITERS + 1, "viewlet-ahead")
        """Writes data that is ready before the rest of its epoch is."""
        self.merge_elsewhere: Elsewhere | None = None
        self._merging: set[RunRef] = set()
        self._stuck: dict[str, frozenset[RunRef]] = {}
        self.doubtful = False  # whether the log may hold a record that the state lacks

    @property
    def durable_epoch(self) -> int:
        return self._log.durable_epoch

    def save(self, run: Run) -> Run:
        """Write a run that is in memory to a file of its own."""
        return self.handles.put(save(run, self.storage, name_after(self.durable_epoch)))

    def begin(self) -> Transaction:
        with self._mutex:
            if self._transaction is not None:
                raise StoreError("another epoch is being written", hint="commit or abort it first")
            self._check_certain()
            self._transaction = Transaction(self)
            return self._transaction

    def ended(self) -> None:
        """Called when the transaction is committed or aborted."""
        self._transaction = None

    def commit(self, transaction: Transaction, record: str | None) -> int:
        """Commit a transaction as the next epoch, with a JSON record for the history; without `record`, as no epoch."""
        with self._mutex:
            now = max(time.time(), self.state.time)
            change = Change() if record is None else Change(self.state.epoch + 1, now, record)
            change.put, change.remove = transaction.documents, sorted(transaction.removed)
            draft = Draft(change)
            for name, edit in transaction.edits.items():
                self._draft_bag(draft, name, edit)
            self._land(draft, durable=self._flusher is None, synced=transaction.durable)
            transaction.end()
            self._roll_if_due()
        self._see_to([name for name, runs in draft.add.items() if self._is_worth_a_look(name, runs)])
        return self.state.epoch

    def _is_worth_a_look(self, name: str, added: list[Run]) -> bool:
        """Whether a bag that was added to may have a large merge due; a table's recent rows are checked less often."""
        bag = self.state.bags[name]
        few = bag.layout.form == "table" and all(run.ref.is_recent for run in added)
        return bool(added) and not (few and len(bag.runs) % _LOOK)

    def _draft_bag(self, draft: Draft, name: str, edit: Edit) -> None:
        """Draft what the epoch does to a bag, including the small merges that are due."""
        if edit.drop:
            draft.change.drop.append(name)
        if edit.create is not None:
            draft.change.create[name] = edit.create
        if edit.passed_on is not None:
            draft.change.resume.append(name)
            draft.feed[name] = edit.passed_on
        if not edit.runs:
            return
        bag = Bag(*edit.create) if edit.create is not None else self.state.bags[name]
        every = [*bag.runs, *edit.runs]
        runs = self._merged_small(bag, every)
        if left := [] if runs is every else [run.ref.place for run in bag.runs if run not in runs]:
            draft.change.gone[name] = left
        draft.add[name] = edit.runs if runs is every else [run for run in runs if run not in bag.runs]
        if bag.layout.feed:
            draft.feed.setdefault(name, edit.runs)

    def _merged_small(self, bag: Bag, runs: list[Run]) -> list[Run]:
        while True:
            free = [run for run in runs if run.ref not in self._merging] if self._merging else runs
            merge = choose_small(bag.layout, free, self.limits)
            if merge is None:
                return runs
            gone, made = merge.run(bag.layout)
            runs = [run for run in runs if run not in gone] + made

    def _land(self, draft: Draft, *, durable: bool, synced: Collection[str] = ()) -> None:
        """Write the files, then the record, then switch to the next state; files in `synced` are durable already."""
        placement = place(draft.runs(), self.limits.record_bytes, self.storage, self.durable_epoch)
        self._sync_files({run.ref.file for run in placement.filed.values()}.difference(synced))
        change = placement.change(draft)
        blob = self._append(encode_change(change), placement.blobs, change.epoch, durable=durable)
        # Handles are held weakly: these must stay alive until the state holds them.
        held = [self.handles.put(run) for run in placement.filed.values()]
        for run in placement.inline:
            placed = place_ref(placement.ref(run), self._log.name, blob)
            held.append(self.handles.put(run.moved(placed, self.storage)))
        change = change.placed(self._log.name, blob)
        self.state = apply(self.state, change, self.handles, self.limits.history_epochs)
        del held
        self.doubtful = False
        if self._flusher is not None:
            self._flusher.wake()

    def _sync_files(self, files: Iterable[str]) -> None:
        try:
            self.storage.sync(files)
        except OSError as reason:
            where = self.storage.address
            raise StoreError(f"files of the warehouse at {where} could not be made durable: {reason}") from reason

    def _append(self, header: dict[str, Any], blobs: list[Any], epoch: int | None, *, durable: bool) -> int:
        """Write a record. If an interrupt leaves it uncertain, nothing more may be written or removed."""
        self._check_certain()
        self.doubtful = True
        try:
            return self._log.append(header, blobs, epoch=epoch or self.state.epoch, durable=durable)
        except StoreError:
            self.doubtful = self._log.broken
            raise

    def _check_certain(self) -> None:
        if self.doubtful:
            raise StoreError("a commit was interrupted; it may be there or not", hint="open the warehouse again")

    def _roll_if_due(self, share: float = 1.0) -> None:
        """Begin a new segment if due. A failure undoes no commit; the next commit tries again."""
        if not self._log.is_long(self.limits, share):
            return
        try:
            self.state = roll(self._log, self.state, self.handles, self.limits)
        except StoreError as failure:
            logger.warning("the log continues in a segment that is too large: %s", failure)

    def _see_to(self, names: Sequence[str]) -> None:
        """Wake the worker for bags with a large merge due, and for sweeping now and then."""
        due: list[str | None] = [name for name in names if self._choose(name) is not None]
        if time.monotonic() - self._sweeper.last > self.limits.grace_seconds / 2:
            due.append(None)
        if due:
            self._worker.wake(due)

    def _choose(self, name: str) -> Merge | None:
        bag = self.state.bags.get(name)
        if bag is None or not bag.runs:
            return None
        return choose_large(bag.layout, bag.runs, self.limits, self._stuck.get(name, frozenset()))

    def _work(self, name: str | None) -> bool:
        """One large merge of a bag, or a sweep; returns whether there was a merge to do."""
        if name is None:
            self._sweep(self.limits.grace_seconds)
            return False
        with self._mutex:
            merge = self._choose(name)
            if merge is None:
                return False
            self._merging = {run.ref for run in merge.inputs}
        try:
            self._merge(name, merge)
        finally:
            self._merging = set()
        return True

    def _merge(self, name: str, merge: Merge) -> None:
        """Merge without holding the lock, then swap the runs in a record of its own."""
        gone, made = self._merged_elsewhere(name, merge) or self._merged_here(merge)
        with self._mutex:
            bag = self.state.bags.get(name)
            if bag is not None and {run.ref for run in bag.runs}.issuperset(run.ref for run in gone):
                change = Change(gone={name: [run.ref.place for run in gone]})
                self._land(Draft(change, add={name: made}), durable=False)
            self._stuck[name] = frozenset(run.ref for run in made if run.ref.sign < 0)

    def _merged_here(self, merge: Merge) -> tuple[Runs, list[Run]]:
        gone, made = merge.run(merge.inputs[0].layout, self._kept)
        self._sync_files(run.ref.file for run in made if run.ref.file)
        return gone, made

    def _kept(self, made: list[Run]) -> list[Run]:
        """The runs of a merge, saved to files unless they are small enough to be inline."""
        limit = self.limits.inline_bytes
        return [self.save(run) if run.ref.kind == "parquet" or run.ref.size > limit else run for run in made]

    def _merged_elsewhere(self, name: str, merge: Merge) -> tuple[Runs, list[Run]] | None:
        """The same on other processes; None if there are none to do it."""
        bag = self.state.bags.get(name)
        done = (
            None if self.merge_elsewhere is None or bag is None else self.merge_elsewhere(merge, bag.layout, bag.types)
        )
        if done is None or bag is None:
            return None
        gone, made = done
        own = [run for run in merge.inputs if run.ref in gone]
        return own, [self.handles.get(ref, bag.layout, bag.types) for ref in made]

    def tidy(self) -> None:
        """Remove the garbage of an earlier process and start the merges that it left."""
        self._sweep(0.0)
        self._see_to(list(self.state.bags))

    def settle(self) -> None:
        """Wait until no merge is due."""
        self._see_to(list(self.state.bags))
        self._worker.settle()

    def orphans(self) -> list[str]:
        """The files that neither a record nor this process needs."""
        return list(idle_files(self.state, self.handles, self._log.first))

    def clean(self) -> list[str]:
        """Remove every file that neither a record nor this process needs."""
        if self._transaction is not None:
            raise StoreError("files cannot be removed while an epoch is being written", hint="commit or abort it first")
        self.settle()
        return self._sweep(0.0)

    def _sweep(self, grace: float) -> list[str]:
        """Remove files once it is durable that they are unneeded; those an open epoch may have written are spared."""
        with self._mutex:
            if self.doubtful:
                return []
            self._log.sync()
            spared = math.inf if self._transaction is None else self._transaction.began - self.limits.grace_seconds
            return self._sweeper.sweep(self.state, self._log.first, grace, min(spared, self._log.confirm()))

    def close(self) -> None:
        """Finish what is under way, and record that everything before is durable."""
        if self._transaction is not None:
            self._transaction.abort()
        self._worker.stop()
        self.merge_elsewhere = None  # it references the owner of the store
        self.ahead.shutdown()
        if self._flusher is not None:
            self._flusher.stop()
        try:
            if self._log.end != self._opened_at and not self.doubtful:
                self._log.sync()
                self._roll_if_due(self.limits.closing_share)
        finally:
            self._log.close()
            self._lock.release()
