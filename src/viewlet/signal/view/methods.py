"""The methods of `Database` for signals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from viewlet.progress import Wanted
    from viewlet.signal.build.pipeline import Signal
    from viewlet.warehouse.warehouse import Warehouse


class SignalMethods:
    """Signals over tables and views, and views of pipelines."""

    _warehouse: Warehouse

    def signal(
        self,
        table: str,
        *,
        by: str | Sequence[str] = (),
        time: str,
        value: str | Sequence[str],
        until: str | None = None,
        complex: bool = False,
        width: int | None = None,
        merge: Literal["error", "mean", "sum", "min", "max"] = "error",
    ) -> Signal:
        """The rows of a table or view as signals: one for each group, with its values in the order of time.

        Several value columns are channels of one signal; with `complex`, two columns are one complex number. Values may
        be arrays; `width` is their length, unless they come from another signal. Several readings of a group at one
        time are an error, unless `merge` combines them. With `until`, a reading holds from its time until that one;
        those of a group must not overlap.
        """
        from viewlet.signal.view.create import make_source

        return make_source(self._warehouse, table, by, time, value, complex, merge, until, width)

    def create_signal(
        self,
        name: str,
        signal: Signal,
        *,
        tolerance: float = 1e-12,
        replace: bool = False,
        progress: Wanted = None,
    ) -> None:
        """Create a view of a signal: a row for each sample, with the group, the time and the channels.

        `tolerance`: a sample that changes by less than this fraction of itself counts as unchanged, and filters stop
        rerunning where a change has faded to it; 0 follows every bit.
        """
        from viewlet.signal.view.create import create_signal

        with self._warehouse.writing(progress):
            create_signal(self._warehouse, name, signal, tolerance, replace)
