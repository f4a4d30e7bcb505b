"""Collations without Spark: strings that are equal under one, as one and the same string.

Its bytes are Spark's collation key. UTF8_LCASE takes two strings as equal when their letters are, in lower case, one by one; RTRIM does not count spaces at
the end. What needs the tables of a locale has no form here.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.kernels.kernel import Kernel, Rule, strict
from viewlet.columns.kernels.lettercase import by_letters, lower
from viewlet.plan.collations import BINARY, LCASE
from viewlet.plan.expr import Call

Fold = Callable[[pa.Array], pa.Array]


def folding(collation: str) -> Fold | None:
    """The function that makes strings that a collation takes as equal the same; None where only Spark can."""
    base = collation.removesuffix("_RTRIM")
    if base not in (BINARY, LCASE):
        return None
    trims, lowers = base != collation, base == LCASE

    def fold(texts: pa.Array) -> pa.Array:
        trimmed = pc.utf8_rtrim(texts, characters=" ") if trims else texts
        return _in_lower_case(trimmed) if lowers else trimmed

    return fold


_in_lower_case = by_letters("ascii_lower", lambda text: lower(text).replace("ς", "σ"))
"""Letter by letter: whether a sigma ends a word does not matter."""


def _collation_key(call: Call) -> Kernel | None:
    kind = call.args[0].type
    fold = folding(kind.args[0]) if kind.name == "collated" else None
    return None if fold is None else strict(lambda texts: fold(texts).cast(pa.binary()))


def _collate(call: Call) -> Kernel | None:
    """The same string under another collation."""
    return strict(lambda texts: texts)


RULES: dict[str, Rule] = {"collation_key": _collation_key, "collate": _collate}
