"""What the engines evaluate exactly as Spark does; the compiler leaves the rest to Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from viewlet.plan.expr import Expr
from viewlet.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Abilities:
    """Each returns None for "exactly as Spark does", or the reason why not."""

    expression: Callable[[Expr], str | None]
    groups: Callable[[Plan], str | None]
    """For a function over groups, which is a plan over `Input`s."""
    can_fail: Callable[[Expr], bool]
    """Whether an expression can fail on some rows, as division by zero does."""

    def expressions(self, exprs: Iterable[Expr]) -> str | None:
        """The first reason against one of the expressions."""
        return next((why for e in exprs if (why := self.expression(e)) is not None), None)
