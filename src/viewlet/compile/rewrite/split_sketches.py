"""approx_count_distinct as sums over registers: HyperLogLog++ without a state of its own.

    γ[k; approx_count_distinct(x)](Q)  =  γ[k; estimate(sum(s), count(s))](γ[k, register(x); min(share(x)) AS s](Q))

A register's share is 2⁻ʳᵃⁿᵏ for the greatest rank of its values, which is a monoid if Q only grows. Otherwise the map
counts how often each share occurs in each register: a few dozen rows per register, however many rows Q has.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from viewlet.compile.abilities import Abilities
from viewlet.plan.expr import Call, Column, Expr, Literal, Named, Reduce, rewrite
from viewlet.plan.nodes import Aggregate, Plan, Project, calls_of, column, map_children
from viewlet.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, Field

_NAME = "approx_count_distinct["
_HASH_BITS = 64


def is_sketch(call: Reduce) -> bool:
    """Whether a function is approx_count_distinct."""
    return call.function.startswith(_NAME)


def split_sketches(plan: Plan, abilities: Abilities) -> Plan:
    """Rewrite every aggregate of the plan to which the law applies."""
    plan = map_children(plan, lambda child: split_sketches(child, abilities))
    return (over_registers(plan, abilities) if isinstance(plan, Aggregate) else None) or plan


def over_registers(plan: Aggregate, abilities: Abilities) -> Aggregate | None:
    """An aggregate whose only function is approx_count_distinct, as sums over registers; None for others."""
    calls = calls_of(plan)
    alike = {replace(c, distinct=False) for c in calls}  # duplicates change no register
    if len(alike) != 1 or not is_sketch(calls[0]):
        return None
    (call,) = alike
    hashed = _hashed(call)
    unable = abilities.expressions((*plan.keys, hashed))
    if unable is not None or (call.where is not None and abilities.can_fail(call.args[0])):
        return None
    made = _estimates(plan, _registers(plan, call, hashed), call)
    return made if abilities.expressions(_without_calls(r.expr) for r in made.results) is None else None


def _hashed(call: Reduce) -> Expr:
    """The hash of a value; NULL for values that do not count."""
    value = call.args[0]
    there: Expr = Call("is_not_null", (value,), BOOLEAN)
    counts = there if call.where is None else Call("and", (call.where, there), BOOLEAN)
    return Call("if", (counts, Call("xxhash64", (value,), BIGINT), Literal(None, BIGINT)), BIGINT)


def _registers(plan: Aggregate, call: Reduce, hashed: Expr) -> Aggregate:
    """The least share of each register of each group; both are NULL if no value counts."""
    bits = _bits(call)
    register = Call("shift_right", (hashed, Literal(_HASH_BITS - bits, INT)), BIGINT)
    share = Call("hll_share", (hashed, Literal(bits, INT)), DOUBLE)
    computed = (*dict.fromkeys(plan.keys), register, share)
    fields = tuple(Field(f"_d{i}", e.type) for i, e in enumerate(computed))
    rows = Project(plan.rows, tuple(Named(f.name, e) for f, e in zip(fields, computed, strict=True)), fields)
    by, least = fields[:-1], Reduce("min", (column(fields[-1]),), DOUBLE)
    results = (*(Named(f.name, column(f)) for f in by), Named("_s", least))
    return Aggregate(rows, tuple(map(column, by)), results, (*by, Field("_s", DOUBLE)))


def _estimates(plan: Aggregate, registers: Aggregate, call: Reduce) -> Aggregate:
    """The aggregate over the registers of each group."""
    keys = dict.fromkeys(plan.keys)
    share = Column("_s", DOUBLE)
    total = Call("coalesce", (Reduce("sum", (share,), DOUBLE), Literal(0.0, DOUBLE)), DOUBLE)
    estimate = Call("hll_estimate", (total, Reduce("count", (share,), BIGINT), call.args[1]), BIGINT)
    held: dict[Expr, Expr] = dict.fromkeys(calls_of(plan), estimate)
    held |= {k: column(f) for k, f in zip(keys, registers.columns, strict=False)}
    results = tuple(Named(r.name, rewrite(r.expr, held.get)) for r in plan.results)
    return Aggregate(registers, tuple(held[k] for k in keys), results, plan.columns, origin=plan.origin)


def _bits(call: Reduce) -> int:
    """How many bits of a hash select the register: the first of the constants in the call."""
    constants = call.args[1]
    assert isinstance(constants, Literal)
    return int(struct.unpack_from("<d", constants.value)[0])


def _without_calls(expr: Expr) -> Expr:
    return rewrite(expr, lambda e: Column("", e.type) if isinstance(e, Reduce) else None)
