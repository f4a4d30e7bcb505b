"""Matrix programs beside NumPy from scratch, on the same machine, in one run.

    python -m benchmarks.matrix --parts rows batches --sizes 1000 2000 --out docs/matrix-figures.md
    python -m benchmarks.matrix --parts rows --largest 8000 --only 'A¹⁶' --out docs/matrix-figures.md
    python -m benchmarks.matrix --parts warehouse spark --rows 1000000 --size 2000 --blocks 6000

`rows`: one changed row, at `--sizes` in every way to refresh, at `--largest` as the cost model chooses; `batches`: of
rows that a Zipf distribution picks; `warehouse`: durable epochs; `spark`: a matrix in row blocks. With --out, each part
writes its own section of the page, and leaves other rows as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from benchmarks.matrix_programs import HEADINGS, batches, cases, changed_rows, tall
from benchmarks.matrix_spark import on_spark
from benchmarks.matrix_tables import in_warehouse
from benchmarks.sections import Page, Row, Section

Given = argparse.Namespace
INTRODUCTION = """# What matrix programs cost, measured

`python -m benchmarks.matrix --out docs/matrix-figures.md` generates this page, each part its own section; [matrix programs](matrix.md) describes the programs. Milliseconds, on two cores with nothing else running; NumPy evaluates the same function from scratch in the same run, with one thread of its BLAS and with two: the faster of both is the baseline, and *its threads* says which that was; a refresh has two. *fastest* is the fastest of all models and strategies that were tried, and *chosen beside fastest* says how many times its time the one took that the cost model chose."""


def _rows(given: Given) -> Iterator[Row]:
    for n in given.sizes:
        yield from changed_rows(cases(n, given.widths), given.only, True, given.times)
    for n in given.largest:
        yield from changed_rows(cases(n, given.widths), given.only, False, given.times)
    for rows in given.tall:
        yield from changed_rows(tall(rows), given.only, True, given.times)


def _number(text: str) -> int:
    return int("".join(digit for digit in text if digit.isdigit()) or 0)


PARTS = {
    "rows": Section(
        "One changed row",
        "Of A or X. n is the size of square matrices, or how many rows a tall one has.",
        ["program", "n", *HEADINGS],
        _rows,
        key=2,
        order=lambda row: (row[0].split(", p")[0], _number(row[0].partition(", p")[2]), _number(row[1])),
    ),
    "batches": Section(
        "Batches of rows",
        "A¹⁶; a thousand changes of rows that a Zipf distribution picks (table 6.4 of the thesis): the higher its factor, "
        "the fewer rows they touch.",
        ["n", "Zipf factor", "rows", *HEADINGS],
        lambda given: chain.from_iterable(batches(n, given.batch) for n in given.batched),
        key=2,
        order=lambda row: (_number(row[0]), -_number(row[1])),
    ),
    "warehouse": Section(
        "Durable epochs",
        "In a warehouse: rows of a table change, and the program's table with them, in one commit. Beside it, reading the "
        "tables into NumPy and evaluating the function.",
        ["program", "rows of an epoch", "read and NumPy", "epoch", "times faster"],
        lambda given: in_warehouse(given.rows, given.size, given.times),
    ),
    "spark": Section(
        "In row blocks, on Spark",
        "A and its powers in row blocks that tasks read and write; a durable epoch of one changed row beside evaluating "
        "all of it again on Spark.",
        ["program", "A takes", "an executor has", "evaluated on Spark", "epoch", "times faster", "from NumPy"],
        lambda given: on_spark(given.blocks, given.resident, given.times),
    ),
}
PAGE = Page(INTRODUCTION, PARTS)


def main() -> None:
    given = _arguments()
    PAGE.run(given.parts, given, given.out)


def _arguments() -> Given:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure")
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 1000], help="measured in every way")
    parser.add_argument("--largest", type=int, nargs="*", default=[], help="measured as chosen")
    parser.add_argument("--widths", type=int, nargs="*", default=[1, 100, 1000], help="columns of T, up to n")
    parser.add_argument("--tall", type=int, nargs="*", default=[100_000], help="rows of a tall least squares")
    parser.add_argument("--only", default="", help="a regular expression of the programs to measure")
    parser.add_argument("--batched", type=int, nargs="*", default=[1000], help="sizes for batches of changes")
    parser.add_argument("--batch", type=int, default=1000, help="changes of a batch")
    parser.add_argument("--rows", type=int, default=100_000, help="of a table in the warehouse")
    parser.add_argument("--size", type=int, default=1000, help="of a square matrix in the warehouse")
    parser.add_argument("--blocks", type=int, default=3000, help="size of the matrix on Spark")
    parser.add_argument("--resident", type=int, help="entries up to which a matrix is not in blocks")
    parser.add_argument("--times", type=int, default=10, help="how often each is measured")
    parser.add_argument("--out", type=Path, help="the page, e.g. docs/matrix-figures.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
