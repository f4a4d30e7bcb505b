"""Random flows: a description that both the product and the interpreter understand, and the functions of its stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from viewlet import flow

Row = dict[str, Any]
Function = Callable[[Any, dict[str, list[Row]], list[Row] | None], dict[str, list[Row]]]
COLUMNS = "k BIGINT, v BIGINT"


@dataclass(frozen=True)
class In:
    """An input of a stage, by words."""

    flow: str
    route: str
    framing: str
    ordered: bool


@dataclass(frozen=True)
class Out:
    """An output of a stage."""

    flow: str
    is_kept: bool
    every_run: bool


@dataclass(frozen=True)
class StageSpec:
    """A stage, by words."""

    name: str
    function: str
    inputs: tuple[In, ...]
    outputs: tuple[Out, ...]
    state: str
    """none, right or full."""
    runnable: str
    form: str
    """group, arrow or row."""


@dataclass(frozen=True)
class Spec:
    """A flow."""

    sources: tuple[str, ...]
    stages: tuple[StageSpec, ...]
    backpressure: bool


def _emit(stage: StageSpec, rows: list[Row]) -> dict[str, list[Row]]:
    return {out.flow: [dict(row) for row in rows if row["v"] % (at + 1) == 0] for at, out in enumerate(stage.outputs)}


def digest(key: Any, inputs: dict[str, list[Row]], state: list[Row] | None, stage: StageSpec) -> dict[str, list[Row]]:
    """A number that depends on every row that a group was given, and on their order."""
    total = 0
    for place, name in enumerate(sorted(inputs)):
        for at, row in enumerate(inputs[name]):
            total += (at + 1) * (place + 1) * (row["v"] + (row["k"] or 0))
    written = _emit(stage, [{"k": key, "v": total % 7}])
    if state is not None:
        kept = sum((at + 1) * row["v"] for at, row in enumerate(state))
        written["state"] = [{"k": key, "v": (total + kept) % 11}, {"k": key, "v": len(state) % 3}][: 1 + total % 2]
    return written


def forget(key: Any, inputs: dict[str, list[Row]], state: list[Row] | None, stage: StageSpec) -> dict[str, list[Row]]:
    """Lets go of its state every other time, and passes on what it knew."""
    rows = [row for name in sorted(inputs) for row in inputs[name]]
    written = _emit(stage, [{"k": key, "v": len(rows) + len(state or ())}])
    if state is not None:
        odd = (sum(row["v"] for row in state) + len(rows)) % 2
        written["state"] = [*state, *({"k": key, "v": row["v"]} for row in rows[:1])][:4] if odd else []
    return written


def remote(key: Any, inputs: dict[str, list[Row]], state: list[Row] | None, stage: StageSpec) -> dict[str, list[Row]]:
    """Keeps its state, and leaves rows for its neighbour."""
    rows = [row for name in sorted(inputs) for row in inputs[name]]
    written = _emit(stage, [{"k": row["k"], "v": row["v"] - 1} for row in rows if row["v"] > 0][:3])
    if state is not None:
        beside = None if key is None else (key + 1) % 4
        written["state"] = [*state[:2], *({"k": beside, "v": row["v"]} for row in rows[:1])]
    return written


FUNCTIONS = {"digest": digest, "forget": forget, "remote": remote}


def route(word: str, row: Row) -> list[Any] | str:
    """The keys of a row, or "ALL"."""
    match word:
        case "key":
            return [row["k"]]
        case "all":
            return "ALL"
        case "discard":
            return []
        case "several":
            return [(row["k"] or 0) % 2, 2] if row["v"] % 3 else []
        case "some":
            return "ALL" if row["v"] == 1 else [row["v"] % 3]
        case _:
            raise AssertionError(word)


def translate(
    stage: StageSpec, key: Any, inputs: dict[str, list[Row]], state: list[Row] | None
) -> dict[str, list[Row]]:
    """What a stage does for one group."""
    return FUNCTIONS[stage.function](key, inputs, state, stage)


def by_rows(stage: StageSpec, row: Row) -> dict[str, list[Row]]:
    """What a row-wise stage does."""
    return _emit(stage, [{"k": row["k"], "v": row["v"] - 1}] * (row["v"] % 3) if row["v"] > 0 else [])


def build(spec: Spec) -> flow.Flow:
    """The flow that a description stands for."""
    made = flow.Flow("f", backpressure=spec.backpressure)
    for name in spec.sources:
        made.source(name, schema=COLUMNS)
    for stage in spec.stages:
        outputs = {
            o.flow: flow.Output(COLUMNS, table=f"t_{o.flow}" if o.is_kept else None, every_run=o.every_run)
            for o in stage.outputs
        }
        if stage.form == "row":
            made.row_wise(stage.inputs[0].flow, outputs, name=stage.name)(_row_function(stage))
            continue
        state = None
        if stage.state != "none":
            grouping: Any = {"right": "right outer", "full": "full outer"}[stage.state]
            state = flow.State(COLUMNS, route_by="k", grouping=grouping)
        made.stage(
            inputs={i.flow: _input(i) for i in stage.inputs},
            outputs=outputs,
            state=state,
            runnable=_runnable(stage),
            vectorized=stage.form == "arrow",
            key="k BIGINT",
            name=stage.name,
        )(_arrow_function(stage) if stage.form == "arrow" else _group_function(stage))
    return made


def _row_function(stage: StageSpec) -> Callable[[Row], dict[str, list[Row]]]:
    return lambda row: by_rows(stage, row)


def _group_function(stage: StageSpec) -> Any:
    return lambda key, inputs, state: translate(stage, key, inputs, state)


def _arrow_function(stage: StageSpec) -> Any:
    """The same function, of Arrow tables."""

    def all_groups(keys: pa.Table, inputs: dict[str, pa.Table], state: pa.Table | None) -> dict[str, pa.Table]:
        written: dict[str, list[Row]] = {}
        for number, key in enumerate(keys["k"].to_pylist()):
            groups = {name: _of_group(table, number) for name, table in inputs.items()}
            kept = None if state is None else _of_group(state, number)
            for name, rows in translate(stage, key, groups, kept).items():
                written.setdefault(name, []).extend(rows)
        schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
        return {name: pa.Table.from_pylist(rows, schema) for name, rows in written.items()}

    return all_groups


def _of_group(table: pa.Table, number: int) -> list[Row]:
    rows = table.to_pylist()
    assert [row["_group"] for row in rows] == sorted(row["_group"] for row in rows)
    return [{"k": row["k"], "v": row["v"]} for row in rows if row["_group"] == number]


def _input(how: In) -> flow.Input:
    by: Any = {"key": "k", "all": flow.ALL, "discard": flow.DISCARD}.get(how.route)
    if by is None:
        word = how.route
        by = lambda row: flow.ALL if route(word, row) == "ALL" else route(word, row)  # noqa: E731
    framing: Any = {
        "run": None,
        "column": flow.by_column("v"),
        "count": flow.by_count(2),
        "punctuation": flow.by_punctuation(lambda row: row["v"] == 0),
        "sum": _by_sum,
    }[how.framing]
    return flow.Input(by, order_by=("v", "k") if how.ordered else (), framing=framing)


def _by_sum(row: Row, state: Any) -> tuple[int, list[int]]:
    """A frame begins where five have come together."""
    number, total = state or [0, 0]
    total += row["v"]
    return (number, [number, total]) if total < 5 else (number + 1, [number + 1, 0])


def _runnable(stage: StageSpec) -> Any:
    names = [i.flow for i in stage.inputs]
    return {
        "all": flow.all_inputs(),
        "any": flow.any_input(),
        "prefer": flow.prefer(names[0], 2),
        "temporal": flow.temporal_join(),
        "look up": flow.look_up(names[-1]),
        "two": lambda waiting, state: (
            flow.Decision.of([names[0]], state=(state or 0) + 1) if waiting[names[0]].length > 1 else None
        ),
    }[stage.runnable]


@st.composite
def specs(draw: st.DrawFn) -> Spec:
    """Random graphs: cycles, several consumers, every way to route, frame and run."""
    sources = ("a", "b")[: draw(st.integers(1, 2))]
    count = draw(st.integers(1, 4))
    outputs = [[f"s{at}o{o}" for o in range(draw(st.integers(0, 2)))] for at in range(count)]
    flows = [*sources, *(name for names in outputs for name in names)]
    stages = [_stage(draw, at, outputs[at], flows, sources) for at in range(count)]
    read = {i.flow for s in stages for i in s.inputs}
    stages = [_kept_where_unread(s, read) for s in stages]
    for name in sources:
        if name not in read:
            sink = In(name, "key", "run", ordered=False)
            stages.append(StageSpec(f"of_{name}", "digest", (sink,), (), "right", "all", "group"))
    return Spec(sources, tuple(stages), draw(st.booleans()))


def _stage(draw: st.DrawFn, at: int, names: list[str], flows: list[str], sources: tuple[str, ...]) -> StageSpec:
    name = f"s{at}"
    outputs = tuple(Out(o, draw(st.booleans()), draw(st.integers(0, 3)) == 0) for o in names)
    form = draw(st.sampled_from(["group", "group", "arrow", "row"]))
    if form == "row" and outputs:  # of what comes before it, so that none feeds itself
        before = [f for f in flows if f in sources or int(f[1]) < at]
        sole = In(draw(st.sampled_from(before)), "key", "run", ordered=False)
        return StageSpec(name, "rows", (sole,), outputs, "none", "all", "row")
    form = "arrow" if form == "arrow" else "group"
    read = draw(st.lists(st.sampled_from(flows), min_size=1, max_size=3, unique=True))
    read = read if at or read[0] in sources else [sources[0], *(f for f in read if f != sources[0])]
    inputs = tuple(_any_input(draw, f) for f in read)
    runnable = draw(st.sampled_from(["any", "any", "all", "prefer", "prefer", "temporal", "look up", "two"]))
    state = draw(st.sampled_from(["none", "right", "full"])) if outputs else "right"
    return StageSpec(name, draw(st.sampled_from(sorted(FUNCTIONS))), inputs, outputs, state, runnable, form)


def _any_input(draw: st.DrawFn, name: str) -> In:
    return In(
        name,
        draw(st.sampled_from(["key", "key", "key", "several", "some", "several", "some", "all", "discard"])),
        draw(st.sampled_from(["run", "run", "run", "column", "count", "punctuation", "sum"])),
        draw(st.booleans()),
    )


def _kept_where_unread(stage: StageSpec, read: set[str]) -> StageSpec:
    outputs = tuple(Out(o.flow, o.is_kept or o.flow not in read, o.every_run) for o in stage.outputs)
    return replace(stage, outputs=outputs)


ROWS = st.lists(
    st.fixed_dictionaries({"k": st.one_of(st.none(), st.integers(0, 3)), "v": st.integers(0, 6)}),
    min_size=1,
    max_size=8,
)
