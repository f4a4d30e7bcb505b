"""Random changes of matrices, made twice: as updates, and on plain arrays that the test keeps itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.matrix.recipes import INPUTS
from viewlet.matrix import Border, ColumnChange, Entries, LowRank, Replace, RowChange

Arrays = dict[str, Any]
SMALLEST, LARGEST = 3, 8
"""How many rows or columns there are where that may change, at first."""


def first(random: np.random.Generator) -> Arrays:
    """Matrices to start from, of sizes of their own."""
    sizes = {name: int(random.integers(SMALLEST, LARGEST + 1)) for name in "nmk"}
    return {
        name: random.normal(size=[sizes[d] if isinstance(d, str) else d for d in shape])
        for name, shape in INPUTS.items()
    }


def step(random: np.random.Generator, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """An update of any kind, and the arrays after it."""
    return STEPS[random.integers(len(STEPS))](random, arrays)


def change_entries(random: np.random.Generator, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Other entries of one or two inputs: rows, columns, low ranks or everything."""
    updates, after = {}, dict(arrays)
    for name in random.choice(list(INPUTS), size=random.integers(1, 3), replace=False):
        kind = random.integers(len(KINDS))
        updates[str(name)], after[str(name)] = KINDS[kind](random, arrays[str(name)].copy())
    return updates, after


def change_rows(random: np.random.Generator, a: Any) -> tuple[Any, Any]:
    rows = random.choice(len(a), size=random.integers(1, 3), replace=False)
    a[rows] = random.normal(size=(len(rows), a.shape[1]))
    return RowChange(changed={int(r): a[r].copy() for r in rows}), a


def change_columns(random: np.random.Generator, a: Any) -> tuple[Any, Any]:
    column = int(random.integers(a.shape[1]))
    a[:, column] = random.normal(size=len(a))
    return ColumnChange(changed={column: a[:, column].copy()}), a


def add_low_rank(random: np.random.Generator, a: Any) -> tuple[Any, Any]:
    u, v = random.normal(size=(len(a), 2)), random.normal(size=(a.shape[1], 2)) / 3
    return LowRank(u, v), a + u @ v.T


def replace(random: np.random.Generator, a: Any) -> tuple[Any, Any]:
    b = random.normal(size=a.shape)
    return Replace(b), b


def change_places(random: np.random.Generator, a: Any) -> tuple[Any, Any]:
    """Single entries; now and then a whole row and a whole column beside them."""
    places = [(int(random.integers(len(a))), int(random.integers(a.shape[1]))) for _ in range(random.integers(0, 4))]
    if random.random() < 0.5:
        row, column = places[0] if places else (0, 0)
        places += [(row, j) for j in range(a.shape[1])] + [(i, column) for i in range(len(a))]
    at = np.array(list(dict.fromkeys(places)), dtype=np.intp).reshape(-1, 2)
    values = random.normal(size=len(at))
    a[at[:, 0], at[:, 1]] = values
    return Entries(at[:, 0], at[:, 1], values), a


KINDS = [change_rows, change_columns, add_low_rank, replace, change_places]


def moves(random: np.random.Generator, size: int) -> tuple[int, list[int]]:
    """How many come and which go."""
    added = int(random.integers(0, 3))
    most = min(size, max(0, size + added - SMALLEST))
    gone = random.choice(size, size=min(int(random.integers(0, 3)), most), replace=False)
    return added, sorted(int(g) for g in gone)


def entries(random: np.random.Generator, rows: int, columns: int) -> Any:
    """Random entries; now and then all zero, which is not the same as none."""
    return random.normal(size=(rows, columns)) * (random.random() > 0.2)


def resize_n(random: np.random.Generator, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Rows of X and y come and go, and one of X that stays changes."""
    n = len(arrays["X"])
    added, gone = moves(random, n)
    updates, after = {}, dict(arrays)
    for name in ("X", "y"):
        rows = entries(random, added, arrays[name].shape[1])
        changed, a = {}, arrays[name].copy()
        staying = [i for i in range(n) if i not in gone]
        if name == "X" and staying:
            a[staying[0]] = random.normal(size=a.shape[1])
            changed = {staying[0]: a[staying[0]].copy()}
        updates[name] = RowChange(changed=changed, new=rows if added else None, gone=gone)
        after[name] = np.vstack([np.delete(a, gone, axis=0), rows])
    return updates, after


def resize_m(random: np.random.Generator, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Columns of X come and go."""
    added, gone = moves(random, arrays["X"].shape[1])
    columns = entries(random, len(arrays["X"]), added)
    after = np.hstack([np.delete(arrays["X"], gone, axis=1), columns])
    return {"X": ColumnChange(new=columns if added else None, gone=gone)}, {**arrays, "X": after}


def resize_k(random: np.random.Generator, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """S gets and loses rows and columns, B rows."""
    k = len(arrays["S"])
    added, gone = moves(random, k)
    rows, columns = entries(random, added, k + added), entries(random, k, added)
    whole = np.vstack([np.hstack([arrays["S"], columns]), rows])
    after = np.delete(np.delete(whole, gone, axis=0), gone, axis=1)
    below = random.normal(size=(added, 2))
    updates = {
        "S": Border(rows if added else None, columns if added else None, gone=gone),
        "B": RowChange(new=below if added else None, gone=gone),
    }
    return updates, {**arrays, "S": after, "B": np.vstack([np.delete(arrays["B"], gone, axis=0), below])}


def fill_gaps(random: np.random.Generator, arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Rows of X and y come and go, where the last ones move into the gaps; entries of what stays or comes change."""
    added, gone = moves(random, len(arrays["X"]))
    staying = [i for i in range(len(arrays["X"]) + added) if i not in gone]
    updates, after = {}, dict(arrays)
    for name in ("X", "y"):
        a = np.vstack([arrays[name], np.zeros((added, arrays[name].shape[1]))])
        rows = random.choice(staying, size=min(3, len(staying)), replace=False)
        columns = random.integers(a.shape[1], size=len(rows))
        a[rows, columns] = random.normal(size=len(rows))
        updates[name] = Entries(rows, columns, a[rows, columns], (added, 0), (gone, ()))
        after[name] = filled(a, gone)
    return updates, after


def filled(a: Any, gone: list[int]) -> Any:
    """What is left when the last rows move into the gaps, the lowest first."""
    size = len(a) - len(gone)
    last = iter(i for i in range(size, len(a)) if i not in gone)
    return a[[next(last) if i in gone else i for i in range(size)]]


STEPS = [change_entries, change_entries, resize_n, resize_m, resize_k, fill_gaps]
