"""Distributed programs without a cluster: they give what programs give in one place, in few jobs and stages."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.compile.fixtures import FOLDER as FIXTURES
from tests.compile.fixtures import MODULES, Decoded, read_cases, read_plans
from tests.compile.partitions import DRIVER, OnePlace, Partitions, as_bag
from tests.compile.random_changes import Tables, nodes
from tests.compile.tpch_sizes import STATIC, read_sizes
from tests.compile.workloads import FOLDER, facts
from tests.schemas import fields
from viewlet.compile import Facts, compile_view
from viewlet.compile.distribute import NONE, Optimizations, distribute, distribute_fill, place
from viewlet.compile.distribute.fill import filling
from viewlet.compile.distribute.lineage import Lineage
from viewlet.compile.distribute.place import Placement
from viewlet.plan.nodes import Input, Join, Scan
from viewlet.program.chain import chain
from viewlet.program.distributed import (
    Compute,
    Distributed,
    Local,
    Move,
    Partitioned,
    Replicated,
    Tag,
    Update,
    mode_of,
    reads_of,
)
from viewlet.program.identity import identity
from viewlet.program.program import Map, Program, Step
from viewlet.program.terms import Change, Grouped, Negate, Probe, Regroup, SparkRowwise, Term, TopK
from viewlet.views.define import ABILITIES

TPCH = read_plans(FOLDER / "tpch.json")
THESIS = {
    "q01": (1, 1), "q02": (1, 3), "q03": (1, 3), "q04": (1, 2), "q05": (2, 5), "q06": (1, 1), "q07": (3, 6), "q08": (2, 6),
    "q09": (3, 7), "q10": (1, 3), "q11": (2, 4), "q12": (1, 2), "q13": (2, 4), "q14": (1, 2), "q15": (1, 3), "q16": (3, 5),
    "q17": (1, 2), "q18": (1, 3), "q19": (1, 2), "q20": (1, 3), "q21": (2, 4), "q22": (2, 3),
}  # fmt: skip
"""Jobs and stages of an epoch of each query in Spark (Nikolic 2016, table 5.1)."""
OURS = {
    "q01": (1, 1), "q02": (1, 2), "q03": (1, 3), "q04": (1, 2), "q05": (1, 3), "q06": (1, 1), "q07": (1, 3), "q08": (1, 4),
    "q09": (1, 3), "q10": (1, 3), "q11": (1, 2), "q12": (1, 2), "q13": (1, 2), "q14": (1, 2), "q15": (1, 1), "q16": (1, 4),
    "q17": (1, 2), "q18": (1, 3), "q19": (1, 2), "q20": (1, 2), "q21": (1, 2), "q22": (1, 3),
}  # fmt: skip

AT_REAL_SIZES = {**OURS, "q03": (1, 2), "q16": (1, 3), "q22": (1, 1)}
"""Where the store knows how large maps are, some are small that could be large."""

FILLS = {
    "q01": 3, "q02": 3, "q03": 2, "q04": 4, "q05": 5, "q06": 1, "q07": 5, "q08": 6, "q09": 5, "q10": 4, "q11": 3, "q12": 4,
    "q13": 4, "q14": 2, "q15": 1, "q15_revenue": 3, "q16": 5, "q17": 2, "q18": 2, "q19": 2, "q20": 4, "q21": 4, "q22": 5,
}  # fmt: skip
"""Stages of the job that fills the view of each query."""


def tpch_facts() -> Facts:
    """The sizes and keys at scale 1; as in the thesis (§4.2), nation and region do not change."""
    return replace(facts("tpch"), static=STATIC)


def tpch_programs(known: Facts) -> dict[str, Program]:
    """The programs of all queries in one warehouse, where views share maps."""
    programs: dict[str, Program] = {}
    held: dict[object, Step] = {}
    for name, decoded in TPCH.items():
        taken = frozenset(m.name for p in programs.values() for m in p.maps)
        made = compile_view(name, decoded.plan, decoded.columns, ABILITIES, facts=known, known=held, taken=taken)  # type: ignore[arg-type]
        for step in made.steps[:-1]:
            if step.map.stored and (same := identity(step.terms, step.map.sums)) is not None:
                held.setdefault(same, step)
        programs[name] = made
    return programs


def compiled(name: str, decoded: Decoded, known: Facts) -> Program:
    return compile_view(name, decoded.plan, decoded.columns, ABILITIES, facts=known)


def run_both(
    programs: Sequence[Program],
    tables: Tables,
    known: Facts,
    options: Optimizations | None = None,
    placement: Mapping[str, Tag] | None = None,
    epochs: int = 3,
    rows: tuple[int, int] = (24, 6),
) -> int:
    """Run epochs on three partitions and in one place, and compare every map after each; the rows that views then have."""
    first = distribute(programs, known, options=options, placement=placement, initial=True)
    later = distribute(programs, known, options=options, placement=first.maps)
    steps = place(programs, known).steps
    cluster, plain = Partitions(steps, first.maps, 3), OnePlace(steps)
    for epoch in range(epochs):
        initial = epoch == 0
        changed = tables.change(rows[0], 0) if initial else tables.change(rows[1], rows[1])
        changes = {name: rows for name, rows in changed.items() if initial or name not in known.static}
        cluster.run(first if initial else later, changes, initial=initial)
        plain.run(changes, initial=initial)
        for name, kept in plain.site.maps.items():
            if kept.stored:
                there, right = cluster.whole(name), plain.site.after[name]
                assert as_bag(there, kept.sums) == as_bag(right, kept.sums), f"{name} after epoch {epoch}"
    return sum(len(as_bag(plain.site.after[p.view])) for p in programs)


def jobs_and_stages(programs: Mapping[str, Program], known: Facts) -> dict[str, tuple[int, int]]:
    """What an epoch of each query takes."""
    found: dict[str, tuple[int, int]] = {}
    for name in THESIS:
        below = [programs["q15_revenue"]] if name == "q15" else []
        made = distribute([*below, programs[name]], known)
        found[name] = len(made.jobs), made.stages
    return found


def more_than_the_thesis(found: Mapping[str, tuple[int, int]]) -> set[str]:
    return {n for n, (jobs, stages) in found.items() if jobs > THESIS[n][0] or stages > THESIS[n][1]}


def test_jobs_and_stages_of_tpch_are_no_more_than_the_thesis_has() -> None:
    known = tpch_facts()
    found = jobs_and_stages(tpch_programs(known), known)
    assert found == OURS
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    for name, (jobs, stages) in found.items():
        ours, thesis = f"{jobs}/{stages}", "/".join(map(str, THESIS[name]))
        assert f"| Q{int(name[1:])} | {ours} | {thesis} |" in page
    assert not more_than_the_thesis(found)


def test_they_are_no_more_where_the_sizes_of_maps_are_known() -> None:
    programs, sizes = tpch_programs(tpch_facts()), read_sizes()
    assert {m.name for p in programs.values() for m in p.maps if m.stored} <= set(sizes), "write the sizes anew"
    known = replace(tpch_facts(), rows=sizes)
    found = jobs_and_stages(programs, known)
    assert found == AT_REAL_SIZES
    assert not more_than_the_thesis(found)
    together = distribute(list(programs.values()), known)
    assert (len(together.jobs), together.stages) == (1, 4)


def test_a_small_map_with_keys_of_a_large_table_is_partitioned_where_that_saves_a_stage() -> None:
    known = replace(tpch_facts(), rows=read_sizes())
    program = compiled("q18", TPCH["q18"], known)
    made = distribute([program], known)
    assert known.rows["q18.m3"] < 100
    assert made.maps["q18.m3"] == Partitioned(("l_orderkey",))
    assert distribute([program], known, placement={"q18.m3": Replicated()}).stages == made.stages + 1
    run_both([program], Tables([TPCH["q18"].plan], 7), known)


def test_each_query_is_filled_by_one_job_of_few_stages() -> None:
    known = tpch_facts()
    made = {name: distribute_fill(compiled(name, decoded, known), known) for name, decoded in TPCH.items()}
    assert {name: found.stages for name, found in made.items()} == FILLS
    assert all(len(found.jobs) == 1 for found in made.values())


def test_a_fill_looks_up_no_map_as_it_was_and_computes_each_product_once() -> None:
    known = tpch_facts()
    for name in ("q03", "q05", "q21"):
        program = compiled(name, TPCH[name], known)
        filled = filling(program, {table: float(known.rows[table]) for table in program.reads})
        probes = [s for step in filled.steps for t in step.terms for s in chain(t) if isinstance(s, Probe)]
        assert {probe.version for probe in probes} == {"new"}
        assert sum(len(s.terms) for s in filled.steps) < sum(len(s.terms) for s in program.steps)


def test_all_of_tpch_is_one_job_of_as_many_stages_as_its_longest_query() -> None:
    known = tpch_facts()
    programs = list(tpch_programs(known).values())
    made = distribute(programs, known)
    assert (len(made.jobs), made.stages) == (1, max(stages for _, stages in OURS.values()))
    assert made.stages == longest_chain(made)
    apart = distribute(programs, known, options=replace(Optimizations(), share=False))
    assert len(made.statements) < len(apart.statements)
    assert len(distribute(programs, known, options=NONE).blocks) > 20 * len(made.blocks)


def test_a_top_k_sends_the_driver_no_more_of_what_comes_than_it_keeps() -> None:
    ((program, decoded, known),) = [
        case for case in fixture_cases(["distribute/fuse"]) if any(isinstance(s, TopK) for s in starts(case[0]))
    ]
    (kept,) = (s.kept for s in starts(program) if isinstance(s, TopK))
    first = distribute_fill(program, known)
    cluster = Partitions(program.steps, first.maps, 3)
    cluster.run(first, Tables([decoded.plan], 3).change(20 * kept, 0), initial=True)
    (gathered,) = (s.name for s in first.statements if isinstance(s, Move) and s.transformer == "gather")
    sent = cluster.sites[DRIVER].deltas[gathered]
    assert sent is not None
    assert kept <= sent.weights.sum() <= 3 * (kept + 1)
    for seed in range(5):
        for size in (kept // 2, kept, 4 * kept):
            run_both([program], Tables([decoded.plan], seed), known, rows=(20 * kept, size))
            run_both([program], Tables([decoded.plan], seed), known, rows=(2, size))


def starts(program: Program) -> list[Term]:
    return [chain(term)[0] for step in program.steps for term in step.terms]


def longest_chain(program: Distributed) -> int:
    """How many stages data dependencies ask for: each exchange begins another."""
    stage: dict[str, int] = {}
    for s in program.statements:
        moves = isinstance(s, Move) and s.transformer in ("repartition", "scatter")
        stage[s.name] = max((stage.get(name, 1) for name in reads_of(s)), default=1) + moves
    return max(stage[s.name] for s in program.statements if mode_of(s) == "workers")


def test_tpch_on_partitions_is_tpch_in_one_place() -> None:
    known = tpch_facts()
    tables = Tables([d.plan for d in TPCH.values()], 7)
    assert run_both(list(tpch_programs(known).values()), tables, known, epochs=2) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", TPCH)
def test_each_query_without_each_optimization(name: str) -> None:
    known = facts("tpch")
    program = compiled(name, TPCH[name], known)
    without = [replace(Optimizations(), **{n: False}) for n in Optimizations.__dataclass_fields__]
    for options in (Optimizations(), NONE, *without):
        run_both([program], Tables([TPCH[name].plan], 7), known, options)


@pytest.mark.slow
@pytest.mark.parametrize("name", TPCH)
def test_any_placement_gives_the_same(name: str) -> None:
    known = tpch_facts()
    program = compiled(name, TPCH[name], known)
    placed, pick = place([program], known), random.Random(name)
    for seed in range(3):
        given: dict[str, Tag] = {}
        for other in placed.maps:
            tag = pick.choice([Local(), Replicated(), Partitioned(()), *placed.choices.get(other, ())])
            if placed.why_not(other, tag) is None:
                given[other] = tag
        run_both([program], Tables([TPCH[name].plan], seed), known, placement=given)


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["orderbook", "tpcds"])
def test_other_workloads_on_partitions(workload: str) -> None:
    sizes = facts(workload)
    known = replace(sizes, rows={name: 1000 * rows for name, rows in sizes.rows.items()})
    for name, decoded in read_plans(FOLDER / f"{workload}.json").items():
        program = compiled(name, decoded, known)
        if not any(needs_spark(step) for s in program.steps for t in s.terms for step in chain(t)):
            run_both([program], Tables([decoded.plan], 5), known, epochs=2)


def fixture_cases(modules: Sequence[str]) -> list[tuple[Program, Decoded, Facts]]:
    """The programs of fixtures over tables that are large and have keys, as far as no step of them needs Spark."""
    found = []
    for module in modules:
        plans = read_plans(FIXTURES / f"{module}.json")
        for case in read_cases(module):
            decoded = plans[case.title]
            names = {n.name for n in nodes(decoded.plan) if isinstance(n, Scan)}
            known = replace(case.known, rows=dict.fromkeys(names, 10_000_000), keys=dict.fromkeys(names, (0,)))
            program = compiled("v", decoded, known)
            if not any(needs_spark(step) for s in program.steps for t in s.terms for step in chain(t)):
                found.append((program, decoded, known))
    return found


def needs_spark(step: object) -> bool:
    return isinstance(step, SparkRowwise) or (isinstance(step, Regroup) and step.native is not None)


def test_operators_on_partitions() -> None:
    cases = fixture_cases(["keyed/regroup", "keyed/regroup_join", "monoid/fold", "ring/route"])
    shown = [run_both([p], Tables([d.plan], 3, k.growing | k.static), k, epochs=2) for p, d, k in cases]
    assert sum(rows > 0 for rows in shown) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_every_fixture_on_partitions(module: str) -> None:
    for program, decoded, known in fixture_cases([module]):
        for options in (Optimizations(), NONE):
            run_both([program], Tables([decoded.plan], 3, known.growing | known.static), known, options)


def test_what_only_spark_evaluates_ends_a_job() -> None:
    decoded = read_plans(FIXTURES / "distribute/fuse.json")["a filter that only Spark evaluates"]
    known = Facts({"orders": 10_000_000}, {"orders": (0,)})
    made = distribute([compiled("v", decoded, known)], known)
    assert (len(made.jobs), made.stages) == (2, 2)
    assert [s.transformer for s in made.statements if isinstance(s, Move)] == ["gather", "scatter"]
    spark = [s for s in made.statements if isinstance(s, Compute) and any(map(needs_spark, chain(s.term)))]
    assert [s.tag for s in spark] == [Local()]


def test_a_map_that_two_functions_group_differently_is_on_one_partition() -> None:
    left, right = fields("a bigint", "b bigint"), fields("c bigint", "d bigint")
    by_d = Regroup((Grouped("r", ("d",), right),), Input(0, right), "one", (*right, *fields("_key bigint")))
    inputs = (Grouped("l", ("a",), left), Grouped("r", ("c",), right))
    join = Join(Input(0, left), Input(1, right), "inner", None, (*left, *right))
    both = Regroup(inputs, join, "both", (*join.columns, *fields("_key bigint")))
    terms: dict[str, Term] = {"l": Change("x", left), "r": Change("y", right), "one": by_d, "both": both}
    steps = [Step(Map(name, term.columns, ()), (term,)) for name, term in terms.items()]
    known = Facts({"x": 10_000_000, "y": 10_000_000})
    assert set(Placement(steps, Lineage(steps, known), {}).tags.values()) == {Partitioned(())}
    alone = [step for step in steps if step.map.name != "one"]
    tags = Placement(alone, Lineage(alone, known), {}).tags
    assert tags == {"l": Partitioned(("a",)), "r": Partitioned(("c",)), "both": Partitioned(("a",))}


def test_results_are_not_called_as_tables_are() -> None:
    known = Facts({"#1": 10_000_000}, {"#1": (0,)})
    columns = fields("id bigint", "n bigint")
    step = Step(Map("v", columns, ("id",)), (Negate(Change("#1", columns)),))
    made = distribute([Program("v", columns, ("id", "n"), (step,), ())], known)
    assert [s.name for s in made.statements] == ["#1", "#2", "#3", "v"]


def test_a_small_warehouse_is_kept_at_the_driver() -> None:
    known = Facts(dict.fromkeys(facts("tpch").rows, 1000), facts("tpch").keys)
    for name in ("q03", "q05", "q18"):
        made = distribute([compiled(name, TPCH[name], known)], known)
        assert {s.tag for s in made.statements if isinstance(s, Update)} == {Local()}
        assert (len(made.jobs), made.stages) == (1, 1)
