"""A regression that follows a shop: what price and promotion do to sales, over the last four weeks, week by week.

Each week is one epoch: its sales come, those of five weeks ago go. The regression runs over a join and keeps none of its
rows, only sums. With matplotlib (`pip install viewlet[plot]`), `coefficients.png` shows how the coefficients move.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import viewlet
from viewlet import matrix
from viewlet.matrix import Wide, models

WEEKS, WINDOW, SALES = 10, 4, 200
TERMS = ["one", "price", "promoted", "size"]
JOINED = "SELECT 1 AS one, price, promoted, size, units FROM sales JOIN shops USING (shop)"
PLOT = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.gettempdir()) / "coefficients.png"
random = np.random.default_rng(7)


def price_effect(week: int) -> float:
    """Customers mind prices more and more."""
    return -2.0 - 0.2 * week


def sales_of(week: int) -> list[tuple[Any, ...]]:
    rows = []
    for i in range(SALES):
        shop, price, promoted = (
            int(random.integers(5)),
            round(float(random.uniform(1, 9)), 2),
            int(random.random() < 0.3),
        )
        units = 60 + price_effect(week) * price + 8 * promoted + 2 * shop * shop + random.normal()
        rows.append((week * SALES + i, week, shop, f"{price:.2f}", promoted, round(units)))
    return rows


def draw(history: list[dict[str, tuple[float, float]]]) -> str:
    """The coefficients with two standard errors on either side, week by week."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "no plot: matplotlib is not installed"
    figure = Figure(figsize=(9, 3), layout="constrained")
    for place, term in enumerate(("price", "promoted"), 1):
        axes = figure.add_subplot(1, 2, place, title=term, xlabel="week")
        weeks = range(len(history))
        values, errors = np.array([fit[term] for fit in history]).T
        axes.plot(weeks, values)
        axes.fill_between(weeks, values - 2 * errors, values + 2 * errors, alpha=0.3)
    figure.savefig(PLOT)
    return f"plot: {PLOT}"


with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.sql("CREATE TABLE shops (shop INT, size INT, PRIMARY KEY (shop))")
    db.sql(
        "CREATE TABLE sales (id BIGINT, week INT, shop INT, price DECIMAL(6,2), promoted INT, units INT, PRIMARY KEY (id))"
    )
    db.insert("shops", [(shop, shop * shop) for shop in range(5)])
    db.insert("sales", sales_of(0))
    program = matrix.program(models.ols, X=("sale", "term"), y=("sale", 1))
    db.create_matrix("fit", program, X=Wide(JOINED, TERMS), y=Wide(JOINED, ["units"]))
    db.sql(
        "CREATE MATERIALIZED VIEW sure AS SELECT term, coefficients FROM fit WHERE abs(coefficients) > 4 * standard_errors"
    )

    history = []
    for week in range(WEEKS):
        if week:
            gone = [(row[0],) for row in db.table("sales").rows() if row[1] == week - WINDOW]
            with db.epoch() as e:
                e.insert("sales", sales_of(week))
                e.delete("sales", gone)
        fit = {row[0]: (row[1], row[2]) for row in db.table("fit").rows()}
        history.append(fit)
        print(
            f"week {week:2}: price {fit['price'][0]:6.2f} ± {fit['price'][1]:.2f}  promotion {fit['promoted'][0]:5.2f}"
        )

    seen = np.mean([price_effect(week) for week in range(WEEKS - WINDOW, WEEKS)])
    assert abs(history[-1]["price"][0] - seen) < 0.1
    print("sure of:", ", ".join(sorted(row[0] for row in db.table("sure").rows())))
    print(
        "changes of the price's coefficient:", sum(c["term"] == "price" for c in db.table("fit").changes().to_pylist())
    )
    print(db.explain("fit").splitlines()[1].strip())
    assert db.check().num_rows == 0
    print(draw(history))
