"""Functions of strings and binary. A string's characters are its Unicode code points, as in Spark."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.arrays import Mask, truth_of
from viewlet.columns.arrow_types import arrow_type
from viewlet.columns.kernels.kernel import Argument, Kernel, Rule, strict
from viewlet.columns.kernels.lettercase import UNICODE_16, UNICODE_17, by_letters
from viewlet.columns.kernels.vectors import Evaluate, Vector, both, read_arrow, reader, spread
from viewlet.columns.rows import Rows
from viewlet.plan.expr import Call, Expr, Literal
from viewlet.plan.types import Type

_INT = reader(Type("int"))


def _are(call: Call, *names: str) -> bool:
    return len(call.args) == len(names) and all(a.type.name == n for a, n in zip(call.args, names, strict=True))


def _constant(expr: Expr) -> Any:
    """The value of a constant, or None."""
    return expr.value if isinstance(expr, Literal) else None


def _search(arrow: str, test: Callable[[str, str], bool]) -> Rule:
    """A test for a substring, prefix or suffix, by Arrow if that is constant."""

    def rule(call: Call) -> Kernel | None:
        if not _are(call, "string", "string"):
            return None
        pattern = _constant(call.args[1])
        if pattern is None:
            return strict(lambda texts, parts: _by_pairs(texts, parts, test))
        return Kernel(lambda parts: _matching(parts[0].run, arrow, pc.MatchSubstringOptions(pattern)))

    return rule


def _by_pairs(texts: pa.Array, others: pa.Array, test: Callable[[str, str], bool]) -> Mask:
    pairs = zip(texts.to_pylist(), others.to_pylist(), strict=True)
    return np.array([t is not None and o is not None and test(t, o) for t, o in pairs], dtype=np.bool_)


def _matching(text: Evaluate, arrow: str, options: pc.FunctionOptions) -> Evaluate:
    call = pc.get_function(arrow).call

    def evaluate(rows: Rows) -> Vector:
        values, valid = text(rows)
        return truth_of(call([values], options)), valid

    return evaluate


def _like(call: Call) -> Kernel | None:
    """LIKE with a constant pattern and the default escape."""
    if len(call.args) != 2 or not _are(call, "string", "string"):
        return None
    pattern = _constant(call.args[1])
    regex = None if pattern is None else like_regex(pattern)
    if regex is None:
        return None
    return Kernel(lambda parts: _matching(parts[0].run, "match_substring_regex", pc.MatchSubstringOptions(regex)))


def like_regex(pattern: str) -> str | None:
    """The regular expression of a LIKE pattern; None if Spark rejects the pattern."""
    result, at = [], 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 1
            if pattern[at : at + 1] not in ("_", "%", "\\"):
                return None
            result.append(re.escape(pattern[at]))
        else:
            result.append({"%": ".*", "_": "."}.get(sign) or re.escape(sign))
        at += 1
    return rf"(?s)\A{''.join(result)}\z"


def _length(call: Call) -> Kernel | None:
    """Characters of a string, bytes of binary."""
    kind = call.args[0].type.name
    if kind not in ("string", "binary"):
        return None
    count = pc.get_function("utf8_length" if kind == "string" else "binary_length").call
    return strict(lambda texts: _INT(count([texts]))[0])


def _map(kernel: str, options: pc.FunctionOptions | None = None) -> Rule:
    """A function of one string that Arrow evaluates exactly as Spark."""
    call_arrow = pc.get_function(kernel).call
    return lambda call: strict(lambda texts: call_arrow([texts], options)) if _are(call, "string") else None


def _letters(apply: Callable[[pa.Array], pa.Array]) -> Rule:
    return lambda call: strict(apply) if _are(call, "string") else None


def _concat(call: Call) -> Kernel | None:
    if call.type.name not in ("string", "binary") or any(arg.type != call.type for arg in call.args):
        return None
    empty = pa.scalar(b"", arrow_type(call.type))
    options = pc.JoinOptions(null_handling="emit_null")
    join = pc.get_function("binary_join_element_wise").call

    def build(parts: tuple[Argument, ...]) -> Evaluate:
        return lambda rows: read_arrow(join([*(part.run(rows)[0] for part in parts), empty], options))

    return Kernel(build) if call.args else None


def _substring(call: Call) -> Kernel | None:
    """Characters from a position, counted from 1, or from the end if negative."""
    if not _are(call, "string", "int", "int"):
        return None
    position, length = _constant(call.args[1]), _constant(call.args[2])
    if position is None or length is None:
        return Kernel(_substring_by_rows)
    return strict(lambda texts, _, __: _sliced(texts, position, length))


def _sliced(texts: pa.Array, position: int, length: int) -> pa.Array:
    start = position - 1 if position > 0 else position
    stop = start + length
    if length <= 0:
        return pc.utf8_slice_codeunits(texts, 0, 0)
    if start < 0 <= stop:
        return pc.utf8_slice_codeunits(texts, start)
    return pc.utf8_slice_codeunits(texts, start, stop)


def _substring_by_rows(parts: tuple[Argument, ...]) -> Evaluate:
    text, position, length = parts

    def evaluate(rows: Rows) -> Vector:
        texts, valid = text.run(rows)
        starts, known = position.run(rows)
        lengths, more = length.run(rows)
        valid = both(both(valid, known), more)
        count = len(rows)
        cut = zip(texts.to_pylist(), spread(starts, count).tolist(), spread(lengths, count).tolist(), strict=True)
        results = [None if t is None else _cut(t, p, n) for t, p, n in cut]
        missing = None if valid is None else ~spread(valid, count)
        return pa.array(results, type=pa.string(), mask=missing), valid

    return evaluate


def _cut(text: str, position: int, length: int) -> str:
    start = position - 1 if position > 0 else (len(text) + position if position < 0 else 0)
    return text[max(start, 0) : max(start + length, 0)] if length > 0 else ""


_SPACE = pc.TrimOptions(" ")

RULES: dict[str, Rule] = {
    "starts_with": _search("starts_with", str.startswith),
    "ends_with": _search("ends_with", str.endswith),
    "contains": _search("match_substring", lambda text, part: part in text),
    "like": _like,
    "length": _length,
    "substring": _substring,
    "concat": _concat,
    "upper": _letters(by_letters("ascii_upper", UNICODE_16.upper)),
    "lower": _letters(by_letters("ascii_lower", UNICODE_16.lower)),
    "upper[since 4.2]": _letters(by_letters("ascii_upper", UNICODE_17.upper)),
    "lower[since 4.2]": _letters(by_letters("ascii_lower", UNICODE_17.lower)),
    "trim": _map("utf8_trim", _SPACE),
    "ltrim": _map("utf8_ltrim", _SPACE),
    "rtrim": _map("utf8_rtrim", _SPACE),
}
