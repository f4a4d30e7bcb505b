"""Collations without Spark: strings that are equal under one, as one and the same string.

Its bytes are Spark's collation key. UTF8_LCASE takes two strings as equal when their letters are, in lower case, one by one; RTRIM does not count spaces at
the end. What needs the tables of a locale has no form here.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from viewlet.columns.kernels.kernel import Kernel, Rule, strict
from viewlet.columns.kernels.lettercase import UNICODE_16, UNICODE_17, Letters, by_letters
from viewlet.plan.collations import BINARY, LCASE
from viewlet.plan.expr import Call

Fold = Callable[[pa.Array], pa.Array]


def folding(collation: str, letters: Letters = UNICODE_16) -> Fold | None:
    """The function that makes strings that a collation takes as equal the same; None where only Spark can."""
    base = collation.removesuffix("_RTRIM")
    if base not in (BINARY, LCASE):
        return None
    trims, lowers = base != collation, base == LCASE
    in_lower_case = _in_lower_case(letters)

    def fold(texts: pa.Array) -> pa.Array:
        trimmed = pc.utf8_rtrim(texts, characters=" ") if trims else texts
        return in_lower_case(trimmed) if lowers else trimmed

    return fold


def _in_lower_case(letters: Letters) -> Fold:
    """Letter by letter: whether a sigma ends a word does not matter."""
    return by_letters("ascii_lower", lambda text: letters.lower(text).replace("ς", "σ"))


def _collation_key(letters: Letters) -> Rule:
    def rule(call: Call) -> Kernel | None:
        kind = call.args[0].type
        fold = folding(kind.args[0], letters) if kind.name == "collated" else None
        return None if fold is None else strict(lambda texts: fold(texts).cast(pa.binary()))

    return rule


def _collate(call: Call) -> Kernel | None:
    """The same string under another collation."""
    return strict(lambda texts: texts)


RULES: dict[str, Rule] = {
    "collation_key": _collation_key(UNICODE_16),
    "collation_key[since 4.2]": _collation_key(UNICODE_17),
    "collate": _collate,
}
