"""Creating, replacing and dropping flows, with their documents, tables and bags."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from viewlet.errors import FlowError, InUse, WrongArgument, shortened
from viewlet.flow.define.definition import Flow
from viewlet.flow.define.graph import Graph, resolve, tables_of
from viewlet.flow.define.stored import find_document, flow_document, load_graph
from viewlet.flow.execute.control import Control, chunk_bag, control_bag
from viewlet.store import Transaction
from viewlet.views.define import define
from viewlet.warehouse.declare.alter import widen
from viewlet.warehouse.declare.ddl import make_table
from viewlet.warehouse.declare.tables import Table
from viewlet.warehouse.fill import create, drop_views

if TYPE_CHECKING:
    from viewlet.warehouse.warehouse import Warehouse


def create_flow(warehouse: Warehouse, flow: Flow, *, replace: bool) -> None:
    """Create a flow, or replace one and take over its states, queues and cursors."""
    if not isinstance(flow, Flow):
        raise WrongArgument(f"{shortened(flow)} is not a flow", hint="make one with viewlet.flow.Flow(name)")
    is_there = flow.name in warehouse.catalog.flows
    if not (replace and is_there):
        warehouse.catalog.refuse_taken(flow.name)
    old = load_graph(warehouse, flow.name) if is_there else None
    if flow.views:
        _make_views(warehouse, flow)
    graph = resolve(flow, {**warehouse.catalog.schemas(), **{t.name: t.fields for t in tables_of(flow)}})
    document = flow_document(graph)
    with warehouse.store.begin() as transaction:
        _place_tables(warehouse, transaction, graph.name, graph.tables)
        _drop_others(warehouse, transaction, graph)
        control = Control.of(graph) if old is None else _taken_over(warehouse, transaction, old, graph)
        control.save(graph.name, transaction)
        transaction.put(f"flow/{graph.name}", document)
        transaction.commit({"kind": "create flow", "name": graph.name})


def _make_views(warehouse: Warehouse, flow: Flow) -> None:
    """Create the tables of a flow, then the views over them; after a crash, those that exist are reused."""
    with warehouse.store.begin() as transaction:
        _place_tables(warehouse, transaction, flow.name, tables_of(flow))
        transaction.commit({"kind": "create tables", "name": flow.name})
    for name, query in flow.views.items():
        there = warehouse.catalog.views.get(name)
        if there is None:
            create(warehouse, define(warehouse, name, query))
        elif there.statement is None or query not in there.statement:
            raise FlowError(
                f"view {name} of flow {flow.name} already exists with another query", hint="choose another name"
            )


def _place_tables(warehouse: Warehouse, transaction: Transaction, flow: str, tables: Sequence[Table]) -> None:
    """Create the tables of a flow; keep existing ones, adding columns if needed."""
    there = {t.name: t for t in warehouse.catalog.tables.values() if t.flow == flow}
    for table in tables:
        if table.name in there:
            _widen(warehouse, transaction, there[table.name], table)
        else:
            make_table(warehouse.catalog, transaction, table)


def _drop_others(warehouse: Warehouse, transaction: Transaction, graph: Graph) -> None:
    """Drop the tables that a flow no longer writes."""
    written = {t.name for t in graph.tables}
    for table in warehouse.catalog.tables.values():
        if table.flow == graph.name and table.name not in written:
            _refuse_read(warehouse, table.name, {graph.name})
            _drop_table(transaction, table)


def _widen(warehouse: Warehouse, transaction: Transaction, old: Table, new: Table) -> None:
    """Add the new columns of an existing table; refuse other changes."""
    if old == new:
        return
    more = new.fields[len(old.fields) :]
    is_wider = new.fields[: len(old.fields)] == old.fields and all(f.nullable for f in more)
    if not is_wider or (old.primary_key, old.append_only) != (new.primary_key, new.append_only):
        raise FlowError(
            f"table {old.name} of flow {new.flow} has rows with other columns or another key",
            hint="append only columns that may be NULL, or use another table: table=…",
        )
    widen(warehouse, transaction, old, new, {})


def _taken_over(warehouse: Warehouse, transaction: Transaction, old: Graph, graph: Graph) -> Control:
    """The cursors and queues of a flow, fitted to the one that replaces it."""
    control = Control.load(graph.name, warehouse.store.snapshot())
    before, now = _columns(old), _columns(graph)
    for flow in control.held:
        if flow in now and now[flow] != before[flow]:
            raise FlowError(
                f"rows of {flow} are still queued in flow {graph.name}, and its columns would change",
                hint="run the flow first, or give the output another name",
            )
    control.fit(graph)
    control.forget_removed(graph.name, transaction)
    return control


def _columns(graph: Graph) -> dict[str, object]:
    outputs = {o.flow: o.fields for s in graph.stages.values() for o in s.outputs}
    return {**{name: s.fields for name, s in graph.sources.items()}, **outputs}


def follow_rewrite(warehouse: Warehouse, transaction: Transaction, table: str) -> None:
    """Move the cursors of flows that read a table past its rewrite, which restarts its change feed."""
    for name in warehouse.catalog.flows_reading(table):
        control, sources = Control.load(name, transaction), warehouse.catalog.flows[name]["sources"]
        for source in (s for s, read in sources.items() if str(read).lower() == table.lower()):
            cursor = control.cursors[source]
            if cursor is not None and warehouse.store.changed_since(table, cursor):
                raise InUse(f"flow {name} has yet to read changes of {table}", hint=f'db.run_flow("{name}")')
            control.cursors[source] = None if cursor is None else warehouse.store.epoch + 1
        control.save(name, transaction)


def drop_flow(warehouse: Warehouse, name: str) -> None:
    """Drop a flow with its state and the tables that it writes, unless views or other flows read them."""
    known, document = find_document(warehouse, name)
    views = [warehouse.catalog.view(view) for view in document["views"]]
    tables = [warehouse.catalog.table(table) for table in document["writes"]]
    control = Control.load(known, warehouse.store.snapshot())
    with warehouse.store.begin() as transaction:
        for view in views:
            _refuse_read(warehouse, view.name, {known, *document["views"]})
        drop_views(warehouse.catalog, transaction, views)
        for table in tables:
            _refuse_read(warehouse, table.name, {known, *document["views"]})
            _drop_table(transaction, table)
        for flow, numbers in control.held.items():
            for number in numbers:
                transaction.drop(chunk_bag(known, flow, number))
        transaction.drop(control_bag(known))
        transaction.remove(f"flow/{known}")
        transaction.commit({"kind": "drop flow", "name": known})


def _refuse_read(warehouse: Warehouse, name: str, own: Collection[str]) -> None:
    if others := [view for view in warehouse.catalog.readers(name) if view not in own]:
        raise InUse(f"{', '.join(others)} read {name}", hint="drop them first")
    warehouse.catalog.refuse_used([name], own=own)


def _drop_table(transaction: Transaction, table: Table) -> None:
    transaction.remove(f"table/{table.name}")
    for bag, _, _ in table.bags():
        transaction.drop(bag)
