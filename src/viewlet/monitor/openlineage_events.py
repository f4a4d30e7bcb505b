"""OpenLineage: for each epoch a START and a COMPLETE event, with the tables that changed and the views that followed.

A run is an epoch; its id follows from the warehouse and the number, so that an event that is sent twice is one run.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from viewlet.extras import needed

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent

    from viewlet.database import Database

PRODUCER = "https://viewlet.invalid/lineage"


class Lineage:
    """Tells an OpenLineage client what epochs did, from now on or from after an epoch.

    Without a client, OpenLineage's own settings say where events go: OPENLINEAGE_URL, openlineage.yml.
    """

    def __init__(self, db: Database, client: OpenLineageClient | None = None, *, since: int | None = None) -> None:
        package = needed("openlineage.client", "lineage")
        self.db = db
        self.client = client or package.OpenLineageClient()
        self.epoch = db.last_epoch if since is None else since
        """The last epoch that was sent."""

    def emit(self) -> int:
        """Tell what was committed since; the number of epochs."""
        sent = 0
        for record in self.db.history(since=self.epoch):
            for event in self._events(record):
                self.client.emit(event)
            self.epoch, sent = record["epoch"], sent + 1
        return sent

    def _events(self, record: dict[str, Any]) -> Iterator[RunEvent]:
        from openlineage.client.event_v2 import Job, Run, RunEvent, RunState

        run = Run(runId=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.db.address}#{record['epoch']}")))
        job = Job(namespace=self.db.address, name=_job(record))
        end = datetime.fromtimestamp(record["timestamp"], UTC)
        begin = end - timedelta(milliseconds=record.get("ms", 0))
        inputs, outputs = self._inputs(record), self._outputs(record)
        for state, at in ((RunState.START, begin), (RunState.COMPLETE, end)):
            yield RunEvent(
                eventTime=at.isoformat(),
                run=run,
                job=job,
                eventType=state,
                producer=PRODUCER,
                inputs=inputs,
                outputs=outputs if state is RunState.COMPLETE else [],
            )

    def _inputs(self, record: dict[str, Any]) -> list[InputDataset]:
        """What changed by itself, and views that others read."""
        from openlineage.client.event_v2 import InputDataset

        read = dict.fromkeys([*record.get("tables", {})])
        read |= dict.fromkeys(bag for view in record.get("views", {}).values() for bag in view.get("rows_in", {}))
        return [InputDataset(self.db.address, name, facets=self._facets(name)) for name in read]

    def _outputs(self, record: dict[str, Any]) -> list[OutputDataset]:
        from openlineage.client.event_v2 import OutputDataset
        from openlineage.client.generated.output_statistics_output_dataset import OutputStatisticsOutputDatasetFacet

        return [
            OutputDataset(
                self.db.address,
                name,
                {"outputStatistics": OutputStatisticsOutputDatasetFacet(rowCount=done["inserted"] + done["deleted"])},
                facets=self._facets(name),
            )
            for name, done in record.get("views", {}).items()
        ]

    def _facets(self, name: str) -> dict[str, Any]:
        """The columns of a table or view; one that is gone by now has none."""
        from openlineage.client.generated.schema_dataset import SchemaDatasetFacet, SchemaDatasetFacetFields

        if name not in (*self.db.tables, *self.db.views):
            return {}
        fields = self.db.table(name).fields
        return {"schema": SchemaDatasetFacet([SchemaDatasetFacetFields(f.name, str(f.type)) for f in fields])}


def _job(record: dict[str, Any]) -> str:
    """What kind of thing happened: an epoch of some tables, or a statement."""
    kind = str(record.get("kind", "epoch"))
    return f"epoch of {', '.join(record['tables'])}" if kind == "epoch" else f"{kind} {record.get('name', '')}".strip()
