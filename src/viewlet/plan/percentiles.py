"""The fractions that percentiles in plans ask for."""

from __future__ import annotations

from viewlet.plan.expr import Call, Expr, Literal, Reduce

_REVERSE = ("percentile[reverse=true]", "percentile[reverse=true, since 4.3]", "percentile_disc[reverse=true]")
PERCENTILES = frozenset(("percentile", "percentile[since 4.3]", "percentile_disc", *_REVERSE))


def shares_in(expr: Expr) -> tuple[float, ...]:
    """The fraction or fractions given to a percentile; none if they are not constant."""
    match expr:
        case Literal(float(share)):
            return (share,)
        case Call("array", parts):
            found = [part.value for part in parts if isinstance(part, Literal) and isinstance(part.value, float)]
            return tuple(found) if len(found) == len(parts) else ()
    return ()


def shares_of(call: Reduce) -> tuple[float, ...]:
    """The fractions of the group that a percentile asks for, counted from the least value; none if not constant."""
    shares = shares_in(call.args[1]) if call.function in PERCENTILES else ()
    return tuple(1 - share for share in shares) if call.function in _REVERSE else shares
