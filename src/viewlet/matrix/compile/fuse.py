"""Fusion: a product that only one sum reads becomes part of the sum, and is not stored.

    t := A @ T,  S := t + B      is      S := A @ T + B

The sum's delta, ΔA·T' + A·ΔT + ΔB, needs the old operands of the product, not the product itself: there is one matrix
less to store, change and check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from viewlet.matrix.algebra.ops import Add, Product, Program, Source, Statement, SumOfProducts, operands, read_once


def fuse(program: Program) -> Program:
    """Fuse every product that only one sum reads."""
    alone = read_once(program)
    kept: dict[str, Statement] = {}
    for statement in program.statements:
        fused = _fused(statement.op, {name: kept[name].op for name in alone & kept.keys()})
        if fused is None:
            kept[statement.name] = statement
            continue
        for taken_in in {*operands(statement.op)} - {*operands(fused)}:
            del kept[taken_in]
        kept[statement.name] = replace(statement, op=fused)
    return replace(program, statements=tuple(kept.values()))


def _fused(op: Source, parts: Mapping[str, Source]) -> SumOfProducts | None:
    """A sum with fused products; None if there is nothing to fuse."""
    if not isinstance(op, Add):
        return None
    terms = [_terms(name, parts.get(name)) for name in (op.left, op.right)]
    products = tuple(pair for found, _ in terms for pair in found)
    return SumOfProducts(products, tuple(name for _, found in terms for name in found)) if products else None


def _terms(name: str, op: Source | None) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """An operand of a sum as products and addends."""
    match op:
        case Product(left, right):
            return ((left, right),), ()
        case SumOfProducts(products, addends):
            return products, addends
        case _:
            return (), (name,)
