"""Collations without Spark: strings that are equal under a collation become the same string.

Its bytes are Spark's collation key. UTF8_LCASE considers strings equal if their lower-case letters are, one by one;
RTRIM ignores trailing spaces. Collations that need the tables of a locale are left to Spark.
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
    """The function that maps strings that are equal under a collation to the same string; None if only Spark can."""
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
    """Lower case letter by letter, regardless of whether a sigma ends a word."""
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
