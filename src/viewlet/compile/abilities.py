"""What the engines evaluate exactly as Spark does; the compiler leaves the rest to Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from viewlet.plan.expr import Expr
from viewlet.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Abilities:
    """Each answers None for "exactly as Spark does", or the reason why not."""

    expression: Callable[[Expr], str | None]
    groups: Callable[[Plan], str | None]
    """Whether a function over groups, a plan over `Input`s, can be evaluated."""
    can_fail: Callable[[Expr], bool]
    """Whether an expression that is evaluated fails on some rows, as division by zero does."""

    def expressions(self, exprs: Iterable[Expr]) -> str | None:
        """The first reason against any of some expressions."""
        return next((why for e in exprs if (why := self.expression(e)) is not None), None)
