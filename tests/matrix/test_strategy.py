"""Models and strategies: what is chosen, why, and that the choice can be overridden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.test_project import imports_of
from viewlet import matrix
from viewlet.errors import UnsupportedQuery
from viewlet.matrix import Expected, Machine, RowChange, iterate, models
from viewlet.matrix.algebra.ops import Add, Product
from viewlet.matrix.compile.cost import Costs, Spread

FOLDER = Path(matrix.__file__).parent


def test_the_core_needs_nothing_of_viewlet_but_its_errors() -> None:
    core = [path for path in FOLDER.rglob("*.py") if "tables" not in path.parts]
    assert len(core) > 30
    for path in core:
        others = [m for m in imports_of(path) if m.startswith("viewlet") and not m.startswith("viewlet.matrix")]
        assert all(m.startswith("viewlet.errors") for m in others), f"{path.name} imports {others}"


def power(k: int) -> matrix.MatrixProgram:
    return matrix.program(lambda A: np.linalg.matrix_power(A, k), A=("n", "n"))


def general(k: int) -> matrix.MatrixProgram:
    return matrix.program(
        lambda A, B, T0: iterate(k, lambda T: A @ T + B, T0), A=("n", "n"), B=("n", "p"), T0=("n", "p")
    )


def seconds(program: matrix.MatrixProgram, sizes: dict[str, int], **options: Any) -> dict[tuple[str, str], float]:
    compiled = program.compile(sizes, **options)
    return {(a.model, a.strategy): a.seconds for a in compiled.alternatives}


def test_powers_of_large_matrices_are_incremental_and_exponential() -> None:
    """Table 6.2: n²·k for the exponential model, n²·k² for the linear one, n³·log k to evaluate."""
    costs = seconds(power(16), {"n": 4000})
    assert min(costs, key=lambda way: costs[way])[1] in ("incremental", "hybrid")
    assert costs["exponential", "incremental"] < costs["skip-4", "incremental"] < costs["linear", "incremental"]
    assert costs["exponential", "reevaluate"] < costs["skip-4", "reevaluate"] < costs["linear", "reevaluate"]
    assert costs["exponential", "incremental"] * 10 < costs["exponential", "reevaluate"]


def test_the_gain_grows_with_size_and_shrinks_with_rank() -> None:
    def gain(n: int, rank: int) -> float:
        costs = seconds(power(16), {"n": n}, model="exponential", expected=Expected(ranks={"A": rank}))
        return costs["exponential", "reevaluate"] / costs["exponential", "incremental"]

    assert gain(500, 1) < gain(2000, 1) < gain(8000, 1)
    assert gain(4000, 1) > gain(4000, 10) > gain(4000, 100)


def test_a_thin_matrix_takes_whole_changes_and_a_wide_one_factors() -> None:
    """§6.4.3: for p = 1 nothing beats going through A once a step; for p = n factors do."""
    expected = Expected(rates={"A": 1.0})
    thin = seconds(general(16), {"n": 2000, "p": 1}, expected=expected)
    anew = {model: cost for (model, strategy), cost in thin.items() if strategy == "reevaluate"}
    assert min(anew, key=lambda model: anew[model]) in ("linear", "krylov"), "step by step"
    assert thin["linear", "hybrid"] <= 1.2 * thin["linear", "reevaluate"]
    wide = seconds(general(16), {"n": 2000, "p": 2000}, expected=expected)
    assert wide["exponential", "incremental"] < wide["linear", "incremental"]
    assert wide["exponential", "incremental"] * 5 < min(c for (_, s), c in wide.items() if s == "reevaluate")


@pytest.mark.parametrize("reading", [1e10, 2e10, 4e10])
def test_a_thin_iteration_goes_through_a_matrix_that_stays_in_the_cache(reading: float) -> None:
    """Sixteen passes over A, and nothing else: whatever memory is like, no other model is faster."""
    machine = Machine(flops=1e11, bytes=5e10, reading=reading, cached=1e11)
    for n in (500, 1000):
        compiled = general(16).compile({"n": n, "p": 1}, machine=machine, expected=Expected(rates={"A": 1.0}))
        assert compiled.chosen.model == "krylov"


def test_passes_after_the_first_read_what_stayed_in_the_cache() -> None:
    machine = Machine(reading=1e10, cached=1e11)
    small, large = 1 << 20, 1 << 30
    assert machine.passing(small) == small / 1e10
    assert machine.passing(small, 11) == pytest.approx(small / 1e10 + 10 * small / 1e11)
    assert machine.passing(large, 11) == pytest.approx(11 * large / 1e10)
    assert 10 * machine.passing(1 << 25) > machine.passing(1 << 25, 10) > 10 * (1 << 25) / 1e11


@pytest.mark.parametrize("n", [50, 600, 4000])
@pytest.mark.parametrize("rank", [1, 30])
def test_hybrid_is_estimated_no_dearer_than_the_others(n: int, rank: int) -> None:
    """Evaluating a cheap sum may cost the products after it their factors: that is weighed."""
    for function, shapes in (
        (models.sum_of_powers(16), {"A": ("n", "n")}),
        (models.pagerank(16), {"M": ("n", "n")}),
        (models.gradient_descent(16, 0.1), {"X": ("n", 20), "Y": ("n", 1), "T0": (20, 1)}),
        (models.ols, {"X": ("n", 20), "y": ("n", 1)}),
    ):
        program = matrix.program(function, **shapes)
        costs = seconds(program, {"n": n}, expected=Expected(ranks=dict.fromkeys(shapes, rank)))
        for model in {model for model, _ in costs}:
            assert costs[model, "hybrid"] <= min(costs[model, "incremental"], costs[model, "reevaluate"]) * (1 + 1e-9)


def test_ranks_are_recompressed_at_about_the_speed_of_a_product() -> None:
    """Cholesky's factors tell whether ranks can be spared, and no eigenvalues are found: a sum of k ranks costs about 2nk²."""
    machine, rank = Machine(flops=1e10, call=0), 150
    costs = Costs({"A": (1000, 1000), "B": (1000, 1000), "sum": (1000, 1000)}, machine)
    found = costs.delta("sum", Add("A", "B"), lambda _: Spread(rank, 1000, 1000))
    assert found is not None
    product = 2 * 2000 * (2 * rank) ** 2 / machine.flops
    assert product < found[0] < 1.5 * product


def test_what_two_changes_make_together_is_charged() -> None:
    """ΔA·B' = ΔA·B + ΔA·ΔB."""
    costs = Costs({"A": (500, 500), "B": (500, 500), "C": (500, 500)}, Machine())

    def seconds_of(changing: str) -> float:
        found = costs.delta("C", Product("A", "B"), lambda name: Spread(40, 500, 500) if name in changing else None)
        assert found is not None
        return found[0]

    joined, _ = costs._sum("C", Spread(40, 500, 500), Spread(40, 500, 500))
    assert seconds_of("AB") > seconds_of("A") + seconds_of("B") + joined


def test_a_cheap_sum_is_not_evaluated_where_products_follow() -> None:
    """S ← A·S + I: to add I anew would be cheap, and everything after it dear."""
    program = matrix.program(models.sum_of_powers(8), A=("n", "n"))
    machine = Machine(flops=1e10, bytes=1e13)
    compiled = program.compile({"n": 600}, model="linear", strategy="hybrid", machine=machine)
    A = np.random.default_rng(1).normal(size=(600, 600)) / 30
    state = program.start(A=A, options={"model": "linear", "strategy": "hybrid", "machine": machine})
    record = state.update(A=RowChange(changed={3: A[4]}))
    followed = [s for s in record.steps if s.name not in dict(compiled.program.outputs).values()]
    assert {s.how for s in followed} == {"factored"}


def test_a_change_beyond_what_was_expected_is_evaluated() -> None:
    """Laid out for single rows, handed a hundred of two hundred: factors would cost more than products."""
    A = np.random.default_rng(2).normal(size=(200, 200)) / 15
    state = power(16).start(A=A, options={"machine": Machine(flops=1e10, call=0, statement=0, rule=0)})
    few = state.update(A=RowChange(changed={1: A[2]}))
    many = state.update(A=RowChange(changed={i: A[i + 1] for i in range(100)}))
    assert "factored" in {s.how for s in few.steps}
    assert {s.how for s in many.steps} == {"evaluated"}
    assert max(state.check().values()) < 1e-12


def test_small_matrices_are_evaluated_anew() -> None:
    A = np.eye(3)
    state = power(4).start(A=A)
    record = state.update(A=RowChange(changed={0: [2, 0, 0]}))
    assert {s.how for s in record.steps} == {"evaluated"}
    assert all(s.reason == "it is less work" for s in record.steps)


def test_rates_weigh_the_inputs() -> None:
    """A program of which only the cheap input changes is not laid out for the dear one."""
    program = matrix.program(lambda A, b: np.linalg.solve(A, b), A=("n", "n"), b=("n", 1))
    often_b = seconds(program, {"n": 1000}, expected=Expected(rates={"b": 1.0}))
    often_a = seconds(program, {"n": 1000}, expected=Expected(rates={"A": 1.0}))
    assert often_b["linear", "incremental"] < often_b["linear", "reevaluate"]
    assert often_a["linear", "incremental"] < often_a["linear", "reevaluate"]
    assert often_b["linear", "incremental"] < often_a["linear", "incremental"]


@pytest.mark.parametrize("strategy", ["incremental", "hybrid", "reevaluate"])
@pytest.mark.parametrize("model", ["linear", "exponential", "skip-3", "skip-4", "krylov"])
@pytest.mark.parametrize("k", [1, 2, 7, 12])
def test_what_is_asked_for_is_done(k: int, model: str, strategy: Any) -> None:
    random = np.random.default_rng(k)
    A, B = random.normal(size=(6, 6)) / 4, random.normal(size=(6, 2))
    state = general(k).start(A=A, B=B, T0=B, options={"model": model, "strategy": strategy})
    assert (state.compiled.chosen.model, state.compiled.chosen.strategy) == (model, strategy)
    A[2] = random.normal(size=6) / 4
    state.update(A=RowChange(changed={2: A[2]}))
    T = B
    for _ in range(k):
        T = A @ T + B
    np.testing.assert_allclose(state["result"], T, rtol=1e-11)


def test_models_have_the_statements_of_table_6_1() -> None:
    def products(model: str) -> int:
        return str(power(16).compile({"n": 100}, model=model).program).count("Product(")

    assert products("linear") == 15
    assert products("exponential") == 4
    assert products("skip-4") == 2 + 3
    sums = matrix.program(
        lambda A: iterate(16, lambda S: A @ S + np.eye(A.shape[0], like=A), np.zeros_like(A)), A=("n", "n")
    )
    exponential = str(sums.compile({"n": 100}, model="exponential").program)
    assert exponential.count("Product(") == 3, "P₂, P₄, P₈"
    assert exponential.count("SumOfProducts(") == 4 - 1, "P·S + S without P₁·I"


def test_the_krylov_model_keeps_no_step() -> None:
    """One statement for an iteration, from its first step where that begins with nothing; powers double."""

    def statements(function: Any, **shapes: Any) -> list[str]:
        text = matrix.program(function, **shapes).explain({"n": 1000, "p": 500}, model="krylov", strategy="incremental")
        return [line[2:36].rstrip() for line in text.splitlines() if " := " in line]

    shapes = {"A": ("n", "n"), "B": ("n", "p"), "T0": ("n", "p")}
    assert statements(models.general(16), **shapes) == ["general := 16 steps T := A @ T + B"]
    assert statements(models.sum_of_powers(16), A=("n", "n"))[1:] == ["sum_of_powers := 15 steps T := A @"]
    assert len(statements(models.power(16), A=("n", "n"))) == 4
    kept = {a.model: a.bytes for a in general(16).compile({"n": 1000, "p": 500}).alternatives}
    assert kept["krylov"] == 8 * 1000 * 500 < kept["linear"] / 15


def test_the_krylov_model_goes_through_the_matrix_once_a_step() -> None:
    """So it is the cheapest where T is wide; in blocks every pass is a job, and it is not weighed."""
    sizes, often = {"n": 4000, "p": 1000}, Expected(rates={"A": 1.0})
    costs = seconds(general(16), sizes, expected=often)
    assert min(costs, key=lambda way: costs[way])[0] == "krylov"
    assert costs["krylov", "incremental"] * 20 < costs["krylov", "reevaluate"]
    assert "krylov" not in {model for model, _ in seconds(general(16), sizes, in_blocks=True)}
    assert "krylov" not in {model for model, _ in seconds(power(16), sizes)}


def test_changes_of_all_that_an_iteration_reads_at_once() -> None:
    random = np.random.default_rng(6)
    given: dict[str, Any] = {"A": random.normal(size=(40, 40)) / 8, "B": random.normal(size=(40, 9))}
    given["T0"] = random.normal(size=(40, 9))
    state = general(9).start(**given, options={"model": "krylov", "strategy": "incremental"})
    for array in given.values():
        array[[3, 8]] = array[[5, 6]]
    record = state.update(**{name: RowChange(changed={i: array[i] for i in (3, 8)}) for name, array in given.items()})
    assert [(s.how, s.rank) for s in record.steps] == [("factored", 9)], "as wide as T is"
    T = given["T0"]
    for _ in range(9):
        T = given["A"] @ T + given["B"]
    np.testing.assert_allclose(state["result"], T, rtol=1e-11)


def test_a_thin_iteration_goes_through_its_steps_again_without_a_new_matrix() -> None:
    random = np.random.default_rng(7)
    given: dict[str, Any] = {"A": random.normal(size=(40, 40)) / 8, "B": random.normal(size=(40, 2))}
    given["T0"] = random.normal(size=(40, 2))
    state = general(9).start(**given, options={"model": "krylov", "strategy": "incremental"})
    for array in given.values():
        array[3] = array[5]
    record = state.update(**{name: RowChange(changed={3: array[3]}) for name, array in given.items()})
    assert [step.how for step in record.steps] == ["dense"]
    np.testing.assert_allclose(state["result"], models.general(9)(**given), rtol=1e-11)


def test_products_that_one_sum_reads_are_part_of_it() -> None:
    """And are kept where something else reads them, too."""

    def several(A: Any, B: Any) -> dict[str, Any]:
        shared = B @ B
        return {"sum": A @ B + B @ A + A, "twice": A @ A + A @ A, "first": shared + A, "second": shared + B}

    program = matrix.program(several, A=(300, 300), B=(300, 300))
    text = program.explain(strategy="incremental")
    assert "sum := A @ B + B @ A + A " in text
    assert {"t1 := B @ B", "first := t1 + A", "second := t1 + B"} <= {line[2:36].rstrip() for line in text.splitlines()}
    assert text.count(" := ") == 6
    assert "A @ B + B @ A" not in program.explain(strategy="reevaluate")
    A, B = np.random.default_rng(4).normal(size=(2, 300, 300))
    state = program.start(A=A, B=B, options={"strategy": "incremental"})
    A[7], B[3] = B[5], A[5]
    record = state.update(A=RowChange(changed={7: A[7]}), B=RowChange(changed={3: B[3]}))
    assert {step.how for step in record.steps} == {"factored"}
    for name, wanted in several(A, B).items():
        np.testing.assert_allclose(state[name], wanted, rtol=1e-9, atol=1e-9)


def test_an_inverse_that_one_product_reads_is_solved_with_where_that_is_cheaper() -> None:
    """A hybrid keeps a large inverse, which has a delta rule, and solves with a small matrix; in blocks it keeps both."""

    def fitted(X: Any, y: Any) -> Any:
        return np.linalg.inv(X.T @ X) @ (X.T @ y)

    program, often = matrix.program(fitted, X=("n", "p"), y=("n", 1)), Expected(rates={"X": 1.0})
    tall, square = {"n": 1_000_000, "p": 100}, {"n": 3000, "p": 3000}
    assert "solve(" in program.explain(tall, expected=often)
    assert "inv(" in program.explain(square, expected=often)
    assert "inv(" in program.explain(tall, expected=often, in_blocks=True)
    assert "inv(" in program.explain(tall, strategy="incremental")
    assert "solve(" in program.explain(tall, strategy="reevaluate")
    both = matrix.program(lambda A, b: {"x": np.linalg.inv(A) @ b, "inverse": np.linalg.inv(A)}, A=(9, 9), b=(9, 1))
    assert "solve(" not in both.explain(strategy="reevaluate"), "it is an output"
    X, y = np.random.default_rng(5).normal(size=(500, 8)), np.ones((500, 1))
    state = program.start(X=X, y=y, options={"expected": often, "strategy": "hybrid"})
    X[3] = X[4]
    state.update(X=RowChange(changed={3: X[3]}))
    np.testing.assert_allclose(state["fitted"], fitted(X, y), rtol=1e-10)


def test_a_loop_that_is_not_affine_is_unrolled() -> None:
    program = matrix.program(lambda A, T: iterate(4, lambda T: np.tanh(A @ T), T), A=(50, 50), T=(50, 50))
    assert {a.model for a in program.compile().alternatives} == {"linear"}


def test_explain_shows_every_alternative() -> None:
    text = power(8).explain({"n": 1000}, machine=Machine(flops=1e10, bytes=1e10))
    assert text.splitlines()[0] == "program(A: 1,000 × 1,000), exponential model, hybrid"
    assert "  t1 := A @ A                         1,000 × 1,000" in text
    assert sum("kept" in line for line in text.splitlines()) == 4 * 3
    assert sum("← chosen" in line for line in text.splitlines()) == 1


def test_explain_shows_the_last_refresh() -> None:
    A = np.random.default_rng(3).normal(size=(40, 40)) / 9
    state = power(4).start(A=A, options={"strategy": "incremental", "model": "exponential"})
    state.update(A=RowChange(changed={0: A[1]}))
    assert "t1 := A @ A                         40 × 40         factored, rank 2, residual" in state.explain()


@pytest.mark.parametrize("options", [{"model": "skip-0"}, {"model": "fast"}, {"strategy": "lazy"}])
def test_models_and_strategies_that_are_not_there(options: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedQuery, match="there is no"):
        power(4).compile({"n": 10}, **options)


def test_a_machine_can_be_measured() -> None:
    found = Machine.measure(64)
    assert found.flops > 1e6
    assert found.bytes > 1e6
