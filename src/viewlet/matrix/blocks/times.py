"""Products of a matrix in blocks with thin ones, and other sums over its blocks.

Changes since the blocks were written are thin, and are applied in the driver: (A + L·Rᵀ)·v = A·v + L·(Rᵀ·v).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from viewlet.matrix.blocks.nodes import (
    Eye,
    Given,
    Moved,
    Node,
    Piece,
    Repeated,
    Replaced,
    Shifted,
    Stored,
    Turned,
    extent,
    gathered,
    pieces,
    read,
    scattered,
)
from viewlet.matrix.delta.factors import Array

Run = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Maps a function over items, in tasks or sequentially; results are in order."""


def times(node: Node, vectors: Array, run: Run) -> Array:
    """matrix · vectors"""
    match node:
        case Given(array):
            return array @ vectors
        case Eye():
            return np.array(vectors)
        case Repeated(array, (rows, width)):
            met = array @ (vectors if array.shape[1] == width else vectors.sum(axis=0, keepdims=True))
            return np.array(np.broadcast_to(met, (rows, vectors.shape[1])))
        case Turned(of):
            return turned_times(of, vectors, run)
        case Moved(of, rows, columns):
            return gathered(times(of, scattered(vectors, columns, extent(of)[1]), run), rows)
        case Shifted(of, left, right):
            return times(of, vectors, run) + left @ (right.T @ vectors)
        case Replaced(of, rows, values):
            found = times(of, vectors, run)
            found[rows] = values @ vectors
            return found
        case _:
            return np.concatenate(run(partial(_piece_times, node, vectors), pieces(node)))


def turned_times(node: Node, vectors: Array, run: Run) -> Array:
    """matrixᵀ · vectors"""
    match node:
        case Given(array):
            return array.T @ vectors
        case Turned(of):
            return times(of, vectors, run)
        case Moved(of, rows, columns):
            return gathered(turned_times(of, scattered(vectors, rows, extent(of)[0]), run), columns)
        case Shifted(of, left, right):
            return turned_times(of, vectors, run) + right @ (left.T @ vectors)
        case Replaced(of, rows, values):
            others = np.array(vectors)
            others[rows] = 0
            return turned_times(of, others, run) + values.T @ vectors[rows]
        case _:
            return np.add.reduce(run(partial(_turned_piece_times, node, vectors), pieces(node)))


def both_times(node: Node, vectors: Array, turned: Array, run: Run) -> tuple[Array, Array]:
    """matrix · vectors and matrixᵀ · turned, reading the blocks of a stored matrix once."""
    match node:
        case Moved(of, rows, columns):
            placed = scattered(vectors, columns, extent(of)[1]), scattered(turned, rows, extent(of)[0])
            down, across = both_times(of, *placed, run)
            return gathered(down, rows), gathered(across, columns)
        case Shifted(of, left, right):
            down, across = both_times(of, vectors, turned, run)
            return down + left @ (right.T @ vectors), across + right @ (left.T @ turned)
        case Replaced(of, rows, values):
            others = np.array(turned)
            others[rows] = 0
            down, across = both_times(of, vectors, others, run)
            down[rows] = values @ vectors
            return down, across + values.T @ turned[rows]
        case Stored():
            found = run(partial(_piece_both, node, vectors, turned), pieces(node))
            return np.concatenate([down for down, _ in found]), np.add.reduce([across for _, across in found])
        case _:
            return times(node, vectors, run), turned_times(node, turned, run)


def product(left: Node, right: Node, run: Run) -> Array:
    """left · right for a small result: the sum over the blocks of rows of `right`."""
    turned = left.of if isinstance(left, Turned) else Turned(left)
    return np.add.reduce(run(partial(_pair_times, turned, right), pieces(right)))


def total(function: Callable[[Array], Any], node: Node, run: Run) -> list[Any]:
    """The results of a function for each block of rows."""
    return run(partial(_of_piece, function, node), pieces(node))


def inner(left: Node, right: Node, run: Run) -> float:
    """Σ left ∘ right"""
    return float(sum(run(partial(_pair_inner, left, right), pieces(left))))


def diagonal(node: Node, run: Run) -> Array:
    return np.concatenate(run(partial(_piece_diagonal, node), pieces(node)))


def _piece_times(node: Node, vectors: Array, piece: Piece) -> Array:
    return read(node, *piece) @ vectors


def _turned_piece_times(node: Node, vectors: Array, piece: Piece) -> Array:
    return read(node, *piece).T @ vectors[slice(*piece)]


def _piece_both(node: Node, vectors: Array, turned: Array, piece: Piece) -> tuple[Array, Array]:
    rows = read(node, *piece)
    return rows @ vectors, rows.T @ turned[slice(*piece)]


def _pair_times(turned: Node, right: Node, piece: Piece) -> Array:
    return read(turned, *piece).T @ read(right, *piece)


def _pair_inner(left: Node, right: Node, piece: Piece) -> float:
    return float(np.vdot(read(left, *piece), read(right, *piece)))


def _piece_diagonal(node: Node, piece: Piece) -> Array:
    return np.diagonal(read(node, *piece), piece[0])


def _of_piece(function: Callable[[Array], Any], node: Node, piece: Piece) -> Any:
    return function(read(node, *piece))
