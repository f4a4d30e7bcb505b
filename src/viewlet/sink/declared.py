"""Declared sinks: named destinations of the warehouse's tables and views.

The warehouse records the position of each for display: exactly-once sinks rely on the position that they store
themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from viewlet.arguments import clause
from viewlet.errors import NameTaken, SqlError, UnknownName
from viewlet.formatting import suggestion
from viewlet.sink.deliver import deliver, note_position, position_of
from viewlet.sink.sink import Sender, Sink, send
from viewlet.store import Snapshot
from viewlet.warehouse.declare.catalog import Catalog
from viewlet.warehouse.read.relation import Relation

if TYPE_CHECKING:
    from viewlet.sink.kafka_topic import KafkaTopic
    from viewlet.warehouse.warehouse import Warehouse

Destination: TypeAlias = "Sink | KafkaTopic"

KINDS = {
    "folder": "viewlet.sink.parquet_folder:ParquetFolder",
    "postgres": "viewlet.sink.postgres_table:PostgresTable",
    "delta": "viewlet.sink.delta_table:DeltaTable",
    "iceberg": "viewlet.sink.iceberg_table:IcebergTable",
    "kafka": "viewlet.sink.kafka_topic:KafkaTopic",
}


def create_sink(warehouse: Warehouse, name: str, of: str, to: Destination) -> None:
    """Declare a sink of a table or view."""
    if name.lower() in map(str.lower, warehouse.catalog.sinks):
        raise NameTaken(f"there is already a sink named {name}", hint="DROP SINK it first")
    fields = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(cast(Any, to)).items()}
    document = {"kind": to.kind, "of": warehouse.catalog.find(of).name, "fields": fields}
    with warehouse.store.begin() as transaction:
        transaction.put(f"sink/{name}", document)
        transaction.commit({"kind": "create sink", "name": name})


def drop_sink(warehouse: Warehouse, name: str) -> None:
    """Remove a sink; its contents stay."""
    known = _known(warehouse.catalog, name)
    with warehouse.store.begin() as transaction:
        transaction.remove(f"sink/{known}")
        transaction.commit({"kind": "drop sink", "name": known})


def send_sinks(warehouse: Warehouse, names: Sequence[str]) -> dict[str, int]:
    """Bring sinks up to date; return how many epochs were sent to each."""
    wanted = [_known(warehouse.catalog, name) for name in names] or list(warehouse.catalog.sinks)
    return {name: _send(warehouse, name) for name in wanted}


def _send(warehouse: Warehouse, name: str) -> int:
    document = warehouse.catalog.sinks[name]
    to = read_sink(document)
    if not isinstance(to, Sink):
        return deliver(warehouse, document["of"], receiver_of(name), to)
    identity = warehouse.identity()
    relation = Relation(warehouse, warehouse.catalog.find(document["of"]))
    sent = send(Sender(relation, identity), to)
    if sent:
        note_position(warehouse, relation.name, receiver_of(name), sent[-1])
    return len(sent)


def receiver_of(name: str) -> str:
    """The name under which the position of a sink is stored."""
    return f"sink {name}"


def read_sink(document: Mapping[str, Any]) -> Destination:
    """Decode a sink."""
    module, _, made = KINDS[document["kind"]].partition(":")
    fields = {key: _as_made(value) for key, value in document["fields"].items()}
    if document["kind"] == "folder":
        fields["path"] = Path(fields["path"])
    found: Destination = getattr(import_module(module), made)(**fields)
    return found


def _as_made(value: Any) -> Any:
    return tuple(map(_as_made, value)) if isinstance(value, list) else value


def _known(catalog: Catalog, name: str) -> str:
    found = next((known for known in catalog.sinks if known.lower() == name.lower()), None)
    if found is None:
        raise UnknownName(f"there is no sink named {name}", hint=suggestion(name, catalog.sinks))
    return found


def sinks_status(catalog: Catalog, snapshot: Snapshot) -> dict[str, Any]:
    """The kind of each sink, the table or view that it follows, and the last epoch sent to it."""
    return {
        name: {
            "kind": document["kind"],
            "of": document["of"],
            "epoch": position_of(document["of"], receiver_of(name), snapshot),
        }
        for name, document in catalog.sinks.items()
    }


def declare_sink(kind: str, place: str, name: str | None, options: Mapping[str, str]) -> Destination:
    """Make a sink from a statement; the option `key` lists columns, separated by commas."""
    given = {key.lower(): value for key, value in options.items()}
    key = tuple(column.strip() for column in given.pop("key", "").split(",") if column.strip())
    match kind.upper():
        case "FOLDER":
            return _made("folder", given, path=str(Path(place).absolute()))
        case "POSTGRES":
            return _made("postgres", given, database=place, table=clause("TABLE", name), key=key)
        case "KAFKA":
            return _made("kafka", given, servers=place, topic=clause("TOPIC", name), key=key)
        case "DELTA":
            return _made("delta", given, path=str(Path(place).absolute()) if "://" not in place else place, key=key)
        case "ICEBERG":
            from viewlet.source.lake.iceberg import read_properties

            properties = read_properties(given)
            return _made("iceberg", {}, catalog=place, table=clause("TABLE", name), key=key, properties=properties)
    raise SqlError(f"{kind} is not a kind of sink", hint="FOLDER, POSTGRES, KAFKA, DELTA, ICEBERG")


def _made(kind: str, options: Mapping[str, str], **fields: Any) -> Destination:
    allowed = ("config",) if kind == "kafka" else ()
    if unknown := [option for option in options if option not in allowed]:
        raise SqlError(f"a sink of kind {kind} has no option {unknown[0]}", hint=", ".join(("key", *allowed)))
    return read_sink({"kind": kind, "fields": {**fields, **options}})
