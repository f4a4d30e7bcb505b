"""Making, replacing and dropping flows: which documents, tables and bags come and go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewlet.errors import FlowError, InUse
from viewlet.flow.control import Control, chunk_bag, control_bag
from viewlet.flow.definition import Flow
from viewlet.flow.graph import Graph, resolve
from viewlet.flow.stored import find_document, flow_document, load_graph
from viewlet.store import Transaction
from viewlet.warehouse.alter import widen
from viewlet.warehouse.ddl import make_table
from viewlet.warehouse.tables import Table

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def create_flow(warehouse: Warehouse, flow: Flow, *, replace: bool) -> None:
    """Make a flow, or put it in the place of another, whose states, queues and cursors it takes over."""
    graph = resolve(flow, warehouse.catalog.schemas())
    old = load_graph(warehouse, graph.name) if replace and graph.name in warehouse.catalog.flows else None
    if old is None:
        warehouse.catalog.refuse_taken(graph.name)
    document = flow_document(graph)
    with warehouse.store.begin() as transaction:
        _place_tables(warehouse, transaction, old, graph)
        control = Control.of(graph) if old is None else _taken_over(warehouse, transaction, old, graph)
        control.save(graph.name, transaction)
        transaction.put(f"flow/{graph.name}", document)
        transaction.commit({"kind": "create flow", "name": graph.name})


def _place_tables(warehouse: Warehouse, transaction: Transaction, old: Graph | None, graph: Graph) -> None:
    """Make the tables of a flow; those that an earlier one wrote stay, with more columns if need be."""
    there = {} if old is None else {t.name: t for t in old.tables}
    for table in graph.tables:
        if table.name in there:
            _widen(warehouse, transaction, there[table.name], table)
        else:
            make_table(warehouse.catalog, transaction, table)
    for name in there.keys() - {t.name for t in graph.tables}:
        _drop_table(warehouse, transaction, there[name])


def _widen(warehouse: Warehouse, transaction: Transaction, old: Table, new: Table) -> None:
    """Let a table that is there be as it is declared now."""
    if old == new:
        return
    more = new.fields[len(old.fields) :]
    is_wider = new.fields[: len(old.fields)] == old.fields and all(f.nullable for f in more)
    if not is_wider or (old.primary_key, old.append_only) != (new.primary_key, new.append_only):
        raise FlowError(
            f"table {old.name} of flow {new.flow} holds rows of other columns or another key",
            hint="add columns that may be NULL at its end, or give the new one another name: table=…",
        )
    widen(warehouse, transaction, old, new, {})


def _taken_over(warehouse: Warehouse, transaction: Transaction, old: Graph, graph: Graph) -> Control:
    """The cursors and queues of a flow, for the one that takes its place."""
    control = Control.load(graph.name, warehouse.store.snapshot())
    before, now = _columns(old), _columns(graph)
    for flow, numbers in control.chunks.items():
        if numbers and flow in now and now[flow] != before[flow]:
            raise FlowError(
                f"rows of {flow} wait to be read in flow {graph.name}, and it would have other columns",
                hint="run the flow first, or give what it writes another name",
            )
    control.fit(graph)
    for flow, numbers in control.unreferenced(graph).items():
        for number in numbers:
            transaction.drop(chunk_bag(graph.name, flow, number))
        control.chunks[flow] = [n for n in control.chunks[flow] if n not in numbers]
    return control


def _columns(graph: Graph) -> dict[str, object]:
    outputs = {o.flow: o.fields for s in graph.stages.values() for o in s.outputs}
    return {**{name: s.fields for name, s in graph.sources.items()}, **outputs}


def follow_rewrite(warehouse: Warehouse, transaction: Transaction, table: str) -> None:
    """Let the flows that read a table go on after it is written anew, where its change feed begins again."""
    for name in warehouse.catalog.flows_reading(table):
        control = Control.load(name, transaction)
        sources = load_graph(warehouse, name).sources.values()
        for source in (s for s in sources if str(s.table).lower() == table.lower()):
            cursor = control.cursors[source.name]
            if cursor is not None and warehouse.store.changed_since(table, cursor):
                raise InUse(f"flow {name} has yet to read changes of {table}", hint=f'db.run_flow("{name}")')
            control.cursors[source.name] = None if cursor is None else warehouse.store.epoch + 1
        control.save(name, transaction)


def drop_flow(warehouse: Warehouse, name: str) -> None:
    """Drop a flow with its state and the tables that it writes, unless views or other flows read them."""
    known, document = find_document(warehouse, name)
    tables = [warehouse.catalog.table(table) for table in document["writes"]]
    control = Control.load(known, warehouse.store.snapshot())
    with warehouse.store.begin() as transaction:
        for table in tables:
            _drop_table(warehouse, transaction, table)
        for flow, numbers in control.chunks.items():
            for number in numbers:
                transaction.drop(chunk_bag(known, flow, number))
        transaction.drop(control_bag(known))
        transaction.remove(f"flow/{known}")
        transaction.commit({"kind": "drop flow", "name": known})


def _drop_table(warehouse: Warehouse, transaction: Transaction, table: Table) -> None:
    readers = [*warehouse.catalog.readers(table.name), *warehouse.catalog.flows_reading(table.name, but=table.flow)]
    if readers:
        raise InUse(f"{', '.join(readers)} read {table.name}", hint="drop them first")
    transaction.remove(f"table/{table.name}")
    for bag, _, _ in table.bags():
        transaction.drop(bag)
