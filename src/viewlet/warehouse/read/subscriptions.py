"""Subscriptions: callbacks that receive the changes of each epoch to a table or view.

The law: every epoch that changes the relation is delivered once, whole, in epoch order, after it is
committed. One thread of the warehouse makes all calls, one at a time, so that no epoch waits for them.
A callback that raises ends its own subscription, since continuing would skip an epoch; the error is logged and kept.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from viewlet.warehouse.read.relation import Relation

log = logging.getLogger("viewlet")
Callback = Callable[[pa.Table], object]


class Subscription:
    """A subscription, as returned by `db.subscribe`."""

    def __init__(self, name: str, since: int, hub: Subscriptions) -> None:
        self.name = name
        self.epoch = since
        """The last epoch delivered, or the one before the subscription's first."""
        self.error: BaseException | None = None
        """What the callback raised, or what prevented its call."""
        self.is_active = True
        self._hub = hub

    def __repr__(self) -> str:
        state = "active" if self.is_active else f"ended by {self.error!r}" if self.error else "cancelled"
        return f"<subscription to {self.name}, {state}, at epoch {self.epoch}>"

    def cancel(self) -> None:
        """End the subscription; a call in progress still finishes."""
        self.is_active = False
        self._hub.forget(self)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until all committed changes have been delivered. The callback itself must not call this."""
        self._hub.call(lambda: None).result(timeout)


class Subscriptions:
    """All subscriptions to a warehouse, and the thread that serves them."""

    def __init__(self, read: Callable[[str], Relation]) -> None:
        self._read = read
        self._callbacks: dict[Subscription, Callback] = {}
        self._thread: ThreadPoolExecutor | None = None
        self._is_closed = False

    def add(self, name: str, callback: Callback, since: int) -> Subscription:
        """Add a subscription that starts after an epoch."""
        made = Subscription(name, since, self)
        self._callbacks = {**self._callbacks, made: callback}
        self._notify(made, callback)
        return made

    def forget(self, subscription: Subscription) -> None:
        self._callbacks = {s: callback for s, callback in self._callbacks.items() if s is not subscription}

    def notify(self) -> None:
        """Deliver what was committed."""
        for subscription, callback in self._callbacks.items():
            self._notify(subscription, callback)

    def _notify(self, subscription: Subscription, callback: Callback) -> None:
        if not self._is_closed:
            delivery = self.call(lambda: self._deliver(subscription, callback))
            delivery.add_done_callback(partial(_end_if_failed, subscription))

    def _deliver(self, subscription: Subscription, callback: Callback) -> None:
        """Deliver new changes, epoch by epoch; a subscription that has ended keeps its position."""
        relation = self._read(subscription.name)
        for epoch, changes in relation.changes_by_epoch(subscription.epoch) if subscription.is_active else ():
            if subscription.is_active:
                callback(changes)
                subscription.epoch = epoch
        if subscription.is_active:
            subscription.epoch = max(subscription.epoch, relation.epoch)

    def call(self, action: Callable[[], None]) -> Future[None]:
        """Queue an action for the thread."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "viewlet-subscriptions")
        return self._thread.submit(action)

    def close(self) -> None:
        """Finish the pending calls and accept no more."""
        self._is_closed = True
        if self._thread is not None:
            self._thread.shutdown()


def _end_if_failed(subscription: Subscription, delivery: Future[None]) -> None:
    """An error in a delivery ends the subscription."""
    if (error := delivery.exception()) is not None:
        subscription.error = error
        subscription.cancel()
        log.error("the subscription to %s ends at epoch %d", subscription.name, subscription.epoch, exc_info=error)
