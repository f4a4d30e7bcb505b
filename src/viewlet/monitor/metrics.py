"""Metrics for Prometheus, read from the warehouse on request, so that they cost epochs nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from viewlet.errors import StoreError
from viewlet.extras import needed

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from viewlet.database import Database

GAUGES = {
    "rows": ("viewlet_rows", "rows of a table or view"),
    "bytes": ("viewlet_bytes", "bytes of a table or view"),
    "map_bytes": ("viewlet_state_bytes", "bytes of the state that keeps a view fresh"),
    "timestamp": ("viewlet_last_change_timestamp_seconds", "when a table or view last changed"),
    "late": ("viewlet_late_rows", "rows that came too late for a table"),
    "rejected": ("viewlet_rejected_rows", "rows that broke a constraint of a table"),
}
BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds, in seconds, of the times of epochs that are counted together."""


class Metrics:
    """A collector of `prometheus_client`; register it, or let `serve_metrics` do so."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._last = db.last_epoch
        self._counts = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self._lock = threading.Lock()

    def collect(self) -> Iterator[Metric]:
        """All metrics, as of now."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        if self.db.read_only:
            self.db.refresh()
        graph = self.db.graph()
        yield GaugeMetricFamily("viewlet_epoch", "the last committed epoch", value=graph["epoch"])
        yield CounterMetricFamily(
            "viewlet_failures", "epochs that failed, of those kept", value=len(self.db.failures())
        )
        for key, (name, text) in GAUGES.items():
            gauge = GaugeMetricFamily(name, text, labels=["name", "kind"])
            for node in graph["nodes"]:
                if node.get(key) is not None:
                    gauge.add_metric([node["name"], node["kind"]], float(node[key]))
            yield gauge
        lag = GaugeMetricFamily("viewlet_source_lag_seconds", "how far a source is behind", labels=["table"])
        for name, seconds in self._lags():
            lag.add_metric([name], seconds)
        yield lag
        buckets, seconds = self._times()
        yield HistogramMetricFamily("viewlet_epoch_seconds", "how long epochs took", buckets=buckets, sum_value=seconds)

    def _lags(self) -> Iterator[tuple[str, float]]:
        """The lag in the last record of each table that a source feeds."""
        found: dict[str, float] = {}
        for record in self.db.history():
            if "lag" in record.get("source", {}):
                found |= dict.fromkeys(record.get("tables", {}), float(record["source"]["lag"]))
        yield from found.items()

    def _times(self) -> tuple[list[tuple[str, float]], float]:
        """How many epochs since the start took at most so long, and how long all of them took."""
        with self._lock:
            for record in self.db.history(since=self._last):
                self._last = record["epoch"]
                if record.get("kind") == "epoch":
                    self._count(record["ms"] / 1e3)
            bounds = [*map(str, BUCKETS), "+Inf"]
            totals = [float(sum(self._counts[: i + 1])) for i in range(len(bounds))]
            return list(zip(bounds, totals, strict=True)), self._seconds

    def _count(self, seconds: float) -> None:
        self._counts[sum(seconds > bound for bound in BUCKETS)] += 1
        self._seconds += seconds


def serve_metrics(db: Database, port: int, host: str = "127.0.0.1") -> Any:
    """Serve the metrics over HTTP, from a thread; what is returned has `server_port` and `shutdown()`."""
    prometheus = needed("prometheus_client", "metrics")
    registry = prometheus.CollectorRegistry()
    registry.register(Metrics(db))
    try:
        server, _ = prometheus.start_http_server(port, host, registry)
    except OSError as error:
        raise StoreError(
            f"metrics cannot be served at {host}:{port}: {error.strerror}", hint="choose another port"
        ) from error
    return server
