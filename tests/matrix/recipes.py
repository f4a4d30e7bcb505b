"""Random programs over matrices: a recipe is a function that runs on plain arrays and on traced matrices alike.

Shapes are tracked by their symbols, so that every step fits. Entries mostly stay of the order of one, and what is inverted
is then far from singular, so that a comparison with NumPy means something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from viewlet.matrix import diagonal, iterate

Dims = tuple[int | str, int | str]
Shape = Dims | tuple[()]
"""Rows and columns, or nothing: a number's."""
INPUTS: dict[str, Dims] = {"X": ("n", "m"), "y": ("n", 1), "S": ("k", "k"), "B": ("k", 2), "C": (4, 4)}
FULL = slice(None)


def eye(a: Any) -> Any:
    return np.eye(a.shape[0], like=a)


def regular(a: Any) -> Any:
    """A matrix with an inverse."""
    return a @ a.T * 0.1 + 2 * eye(a @ a.T)


@dataclass(frozen=True)
class Rule:
    """An operator: the shape of its result, or None where the operands do not fit."""

    shape: Callable[..., Any]
    apply: Callable[..., Any]
    arity: int


def same(a: Shape, b: Shape) -> Shape | None:
    return a if a == b and a else None


def square(a: Shape) -> Shape | None:
    return a if a and a[0] == a[1] else None


def any_matrix(a: Shape) -> Shape | None:
    return a or None


RULES: dict[str, Rule] = {
    "matmul": Rule(lambda a, b: (a[0], b[1]) if a and b and a[1] == b[0] else None, lambda a, b: 0.3 * (a @ b), 2),
    "add": Rule(same, lambda a, b: a + b, 2),
    "subtract": Rule(same, lambda a, b: a - 0.5 * b, 2),
    "broadcast row": Rule(
        lambda a, b: a if a and b and b[0] == 1 and b[1] == a[1] else None, lambda a, b: a - 0.5 * b, 2
    ),
    "broadcast column": Rule(lambda a, b: a if a and b and b[1] == 1 and b[0] == a[0] else None, lambda a, b: b + a, 2),
    "multiply": Rule(same, lambda a, b: np.tanh(a) * b, 2),
    "scale": Rule(any_matrix, lambda a: -0.7 * a, 1),
    "scale by number": Rule(lambda a, b: b if a == () and b else None, lambda a, b: b / (1 + a * a), 2),
    "transpose": Rule(lambda a: (a[1], a[0]) if a else None, lambda a: a.T, 1),
    "inverse": Rule(lambda a: (a[0], a[0]) if a else None, lambda a: np.linalg.inv(regular(a)), 1),
    "solve": Rule(lambda a, b: b if a and b and a[0] == b[0] else None, lambda a, b: np.linalg.solve(regular(a), b), 2),
    "tanh": Rule(any_matrix, np.tanh, 1),
    "exp": Rule(any_matrix, lambda a: np.exp(0.3 * np.tanh(a)), 1),
    "square": Rule(any_matrix, lambda a: 0.3 * a**2, 1),
    "beside": Rule(
        lambda a, b: (a[0], a[1] + b[1]) if a and b and a[0] == b[0] and is_plain(a[1], b[1]) else None,
        lambda a, b: np.hstack([a, b]),
        2,
    ),
    "below": Rule(
        lambda a, b: (a[0] + b[0], a[1]) if a and b and a[1] == b[1] and is_plain(a[0], b[0]) else None,
        lambda a, b: np.vstack([a, b]),
        2,
    ),
    "first rows": Rule(lambda a: (2, a[1]) if a and a[0] != 1 else None, lambda a: a[:2], 1),
    "last rows": Rule(lambda a: (2, a[1]) if a and a[0] != 1 else None, lambda a: a[-2:], 1),
    "first column": Rule(lambda a: (a[0], 1) if a else None, lambda a: a[:, 0:1], 1),
    "sum rows": Rule(lambda a: (1, a[1]) if a else None, lambda a: 0.3 * a.sum(axis=0, keepdims=True), 1),
    "mean columns": Rule(lambda a: (a[0], 1) if a else None, lambda a: np.mean(a, axis=1, keepdims=True), 1),
    "mean": Rule(lambda a: () if a else None, lambda a: np.mean(a), 1),
    "norm": Rule(lambda a: () if a else None, lambda a: np.linalg.norm(a) / 5, 1),
    "trace": Rule(lambda a: () if square(a) else None, lambda a: 0.3 * np.trace(a), 1),
    "diagonal": Rule(lambda a: (a[0], 1) if square(a) else None, diagonal, 1),
    "power": Rule(square, lambda a: np.linalg.matrix_power(0.3 * np.tanh(a), 5), 1),
    "iterate": Rule(
        lambda a, b: b if square(a) and b and a[0] == b[0] else None,
        lambda a, b: iterate(6, lambda T: 0.2 * (a @ T) + b, b),
        2,
    ),
    "descend": Rule(
        lambda a, b: (a[1], b[1]) if a and b and a[0] == b[0] else None,
        lambda a, b: iterate(3, lambda T: T - 0.05 * (a.T @ (a @ T - b)), 0.1 * (a.T @ b)),
        2,
    ),
}


def is_plain(*dims: int | str) -> bool:
    return all(isinstance(d, int) for d in dims)


@dataclass(frozen=True)
class Recipe:
    """Steps, each an operator and the places of its operands among inputs and earlier results."""

    steps: tuple[tuple[str, tuple[int, ...]], ...]

    def shapes(self) -> list[Any]:
        """Of the inputs, and of what each step makes."""
        shapes: list[Any] = list(INPUTS.values())
        for rule, places in self.steps:
            shapes.append(RULES[rule].shape(*(shapes[p] for p in places)))
        return shapes

    def __call__(self, **inputs: Any) -> dict[str, Any]:
        values = list(inputs.values())
        for rule, places in self.steps:
            values.append(RULES[rule].apply(*(values[p] for p in places)))
        return {f"r{i}": v for i, v in enumerate(values[len(inputs) :])}


def grown(steps: int, choose: Callable[[list[Any]], Any]) -> Recipe:
    """A recipe of so many steps; a step prefers what the one before it made."""
    recipe = Recipe(())
    for _ in range(steps):
        shapes = recipe.shapes()
        found = list(fitting(shapes))
        recent = [f for f in found if len(shapes) - 1 in f[1]] if recipe.steps else found
        recipe = Recipe((*recipe.steps, choose(recent or found)))
    return recipe


@st.composite
def recipes(draw: Any, most: int = 5) -> Recipe:
    """Recipes of up to so many steps."""
    return grown(draw(st.integers(1, most)), lambda found: draw(st.sampled_from(found)))


def fitting(shapes: list[Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Every step that fits what is there."""
    for name, rule in RULES.items():
        for places in product(range(len(shapes)), repeat=rule.arity):
            if rule.shape(*(shapes[p] for p in places)) is not None:
                yield name, places
