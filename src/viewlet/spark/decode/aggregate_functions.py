"""Decoding aggregate functions into the algebra's `Reduce`.

A parameter that is not an argument becomes part of the function's name, as in `percentile[reverse=true]`, so that
functions with equal names compute the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from viewlet.plan.expr import Expr, Literal, Over, Reduce
from viewlet.plan.types import BINARY, decimal
from viewlet.spark.decode.sketch_constants import hll_constants
from viewlet.spark.decode.tree import Tree, fingerprint, mode_of, refuse_collated
from viewlet.spark.decode.vocabulary import in_mode
from viewlet.spark.session.jvm import class_of, walk
from viewlet.spark.session.user_functions import handlers_of
from viewlet.spark.session.versions import change_of

if TYPE_CHECKING:
    from viewlet.spark.decode.expressions import Expressions

SILENT = frozenset(
    ("class", "num-children", "mutableAggBufferOffset", "inputAggBufferOffset", "evalContext", "evalMode", "ignoreNulls",
     "func", "dataType", "evalType", "udfDeterministic", "resultId", "name", "isDistinct")
)  # fmt: skip
"""Parameters without further meaning: those of Spark's buffers, and those decoded elsewhere."""

CANONICAL = {
    "Sum": "sum", "Average": "avg", "Count": "count", "Min": "min", "Max": "max", "StddevSamp": "stddev_samp",
    "StddevPop": "stddev_pop", "VarianceSamp": "var_samp", "VariancePop": "var_pop", "CollectList": "collect_list",
    "CollectSet": "collect_set", "ApproximatePercentile": "percentile_approx", "ListAgg": "listagg",
    "HyperLogLogPlusPlus": "approx_count_distinct", "RegrReplacement": "regr_sxx",
}  # fmt: skip
"""A single name where Spark prints whichever synonym the query used."""

SHORT_SUMS = ("sum", "try_sum")
"""Spark 4.1 and 4.2 forget that a sum of integers is a `try_sum`; no sum that short overflows."""

USUAL: dict[str, Any] = {"nullOnDivideByZero": True, "reverse": False, "legacyCalculation": False}
"""Parameters that the name omits if they have their default value."""


def decode_reduce(expressions: Expressions, call: Tree) -> Reduce:
    """An aggregate call: the function, its arguments, DISTINCT and FILTER."""
    function = call.parts[0]
    where = expressions.decode(call.parts[1]) if len(call.parts) > 1 else None
    name, args = decode_function(expressions, function)
    if call.data["isDistinct"]:
        refuse_collated(a.type for a in args)
    return Reduce(name, args, function.type, bool(call.data["isDistinct"]), where, handlers_of(function))


def decode_short_sum(expressions: Expressions, made: Tree) -> Reduce | Over | None:
    """A sum of short decimals, which Spark computes in integers: MakeDecimal(sum(UnscaledValue(e)), p, s)."""
    call = made.parts[0]
    function = call.parts[0].parts[0] if call.kind == "WindowExpression" else call.parts[0] if call.parts else call
    if function.kind != "Sum" or function.parts[0].kind != "UnscaledValue" or made.data["nullOnOverflow"]:
        return None
    argument, decoded = expressions.decode(function.parts[0].parts[0]), expressions.decode(call)
    if not isinstance(decoded, Reduce | Over) or decoded.function not in SHORT_SUMS or argument.type.name != "decimal":
        return None
    precision, scale = argument.type.args
    return replace(decoded, args=(argument,), type=made.type) if made.type == decimal(precision + 10, scale) else None


def decode_function(expressions: Expressions, function: Tree) -> tuple[str, tuple[Expr, ...]]:
    """The name and the arguments of an aggregate function."""
    if function.kind == "ListAgg":
        return decode_listagg(expressions, function)
    args = expressions.decode_all(function.parts)
    if function.kind != "Count":
        refuse_collated(a.type for a in args)
    if function.kind == "HyperLogLogPlusPlus":
        args = (*args, Literal(hll_constants(function.jvm), BINARY))
    if function.kind == "Count" and all(isinstance(a, Literal) and a.value is not None for a in args):
        args = ()
    return function_name(function, expressions.version), args


def decode_listagg(expressions: Expressions, function: Tree) -> tuple[str, tuple[Expr, ...]]:
    """listagg: its text, its delimiter and the terms of its order, whose directions are part of the name."""
    value, delimiter, *terms = function.parts
    order = [expressions.order(term) for term in terms]
    args = (*expressions.decode_all([value, delimiter]), *(o.key for o in order))
    refuse_collated(a.type for a in args)
    more = ", ".join(f"{'desc' if o.descending else 'asc'} nulls {'first' if o.nulls_first else 'last'}" for o in order)
    return f"listagg[{more}]" if order else "listagg", args


def function_name(function: Tree, version: tuple[int, int]) -> str:
    """Spark's name of an aggregate function, with its mode, its parameters, and the version of its meaning."""
    if function.kind in ("PythonUDAF", "PythonUDF", "ScalaAggregator"):
        return f"{function.data.get('name') or function.jvm.prettyName()}[{fingerprint(function)}]"
    name = CANONICAL.get(function.kind) or str(function.jvm.prettyName())
    if function.kind in ("Sum", "Average"):
        name = in_mode(name, mode_of(function))
    if function.kind in ("Corr", "Skewness", "Kurtosis"):
        name = in_mode(name, _mode_of_division(function))
    more = [f"{key}={value}" for key, value in parameters(function).items()]
    more.extend(filter(None, [null_treatment(function), change_of(function.kind, version)]))
    return f"{name}[{', '.join(more)}]" if more else name


def null_treatment(function: Tree) -> str | None:
    """A function's treatment of NULL, if it is not the default."""
    ignores = function.data.get("ignoreNulls")
    if function.kind in ("CollectList", "CollectSet"):
        return "respect nulls" if ignores is False else None
    return "ignore nulls" if ignores is True else None


def _mode_of_division(function: Tree) -> str:
    """The mode of a function whose final division has the session's mode, and which has none itself."""
    division = next(e for e in walk(function.jvm.evaluateExpression()) if class_of(e) == "Divide")
    return str(division.evalMode().toString())


def parameters(function: Tree) -> dict[str, str]:
    """The parameters of a function that are not arguments and do not have their default values."""
    found: dict[str, str] = {}
    for key, value in function.data.items():
        if key in SILENT or is_argument(value, len(function.parts)) or (key in USUAL and USUAL[key] == value):
            continue
        found[key] = (
            str(getattr(function.jvm, key)())
            if value is None or isinstance(value, (dict, list))
            else str(value).lower()
        )
    return found


def is_argument(value: Any, count: int) -> bool:
    """Whether a parameter's JSON refers to children of the function."""
    if isinstance(value, list):
        return all(is_argument(v, count) for v in value)
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count
