"""Reorders chains of products: W @ Xᵀ @ y becomes W @ (Xᵀ @ y) if that is cheaper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from viewlet.matrix.algebra.builder import Builder, rename
from viewlet.matrix.algebra.ops import Product, Program, operands
from viewlet.matrix.algebra.sizes import measured


def reassociate(program: Program, sizes: Mapping[str, int]) -> Program:
    """Put every chain of products into its cheapest order for these sizes."""
    products = {s.name: s.op for s in program.statements if isinstance(s.op, Product)}
    inner = _used_in_one_product(program, products)
    builder = Builder(program.inputs)
    names = {i.name: i.name for i in program.inputs}
    for statement in program.statements:
        if statement.name in inner:
            continue
        if statement.name in products:
            chain = [names[n] for n in _chain(statement.name, products, inner)]
            names[statement.name] = _emit(builder, chain, sizes)
        else:
            names[statement.name] = builder.emit(rename(statement.op, names))
    return builder.program({output: names[name] for output, name in program.outputs})


def _used_in_one_product(program: Program, products: Mapping[str, Product]) -> set[str]:
    """Products that are read once, by another product: the inner links of chains."""
    uses = Counter(name for s in program.statements for name in operands(s.op))
    uses.update(name for _, name in program.outputs)
    read = {name for op in products.values() for name in operands(op)}
    return {name for name in products if uses[name] == 1 and name in read}


def _chain(name: str, products: Mapping[str, Product], inner: set[str]) -> list[str]:
    op = products[name]
    return [n for side in operands(op) for n in (_chain(side, products, inner) if side in inner else [side])]


def _emit(builder: Builder, chain: list[str], sizes: Mapping[str, int]) -> str:
    """Matrix-chain ordering by dynamic programming over the last split."""
    shapes = [measured(builder.shapes[name], sizes) for name in chain]
    best: dict[tuple[int, int], tuple[float, int]] = {(i, i): (0.0, i) for i in range(len(chain))}
    for length in range(1, len(chain)):
        for i in range(len(chain) - length):
            best[i, i + length] = min(_splits(best, shapes, i, i + length))
    return _build(builder, chain, best, 0, len(chain) - 1)


def _splits(
    best: Mapping[tuple[int, int], tuple[float, int]], shapes: list[tuple[int, int]], i: int, j: int
) -> list[tuple[float, int]]:
    """The cost of each last split; among equal costs, the order as written wins."""
    return [(best[i, k][0] + best[k + 1, j][0] + shapes[i][0] * shapes[k][1] * shapes[j][1], -k) for k in range(i, j)]


def _build(
    builder: Builder, chain: list[str], best: Mapping[tuple[int, int], tuple[float, int]], i: int, j: int
) -> str:
    if i == j:
        return chain[i]
    k = -best[i, j][1]
    left, right = _build(builder, chain, best, i, k), _build(builder, chain, best, k + 1, j)
    return builder.emit(Product(left, right))
