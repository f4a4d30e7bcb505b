"""Upper and lower case in the version of Unicode that Spark uses, whichever version Python has.

Mappings never change once assigned, so only characters added after Unicode 14 need a table. A capital sigma becomes ς
at the end of a word and σ elsewhere, which depends on the surrounding characters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc


def _points(ranges: str) -> list[int]:
    """The code points of ranges such as `1C89-1C8A ECE`."""
    pairs = [(r.split("-")[0], r.split("-")[-1]) for r in ranges.split()]
    return [point for first, last in pairs for point in range(int(first, 16), int(last, 16) + 1)]


@dataclass(frozen=True)
class Letters:
    """The letters of a version of Unicode."""

    to_upper: Mapping[int, int]
    to_lower: Mapping[int, int]
    stand_ins: Mapping[int, str]
    """Older characters with the same effect on where a word ends."""

    def upper(self, text: str) -> str:
        return text.translate(self.to_upper).upper()

    def lower(self, text: str) -> str:
        if "Σ" in text:
            text = self._with_small_sigmas(text)
        return text.translate(self.to_lower).lower()

    def _with_small_sigmas(self, text: str) -> str:
        """The text with each Σ replaced by the small sigma that its position requires."""
        found = iter([sign for sign in text.translate(self.stand_ins).lower() if sign in "σς"])
        return "".join(next(found) if sign in "Σσς" else sign for sign in text)

    def adding(self, *, lower: str, upper: str, cased: str, passed_over: str, ends_words: str) -> Letters:
        """The letters of a later version: new pairs, cased letters, marks that words ignore, and word ends."""
        small, capital = _points(lower), _points(upper)
        stand_ins = ((cased, "x"), (passed_over, "\u0301"), (ends_words, " "))
        return Letters(
            {**self.to_upper, **dict(zip(small, capital, strict=True))},
            {**self.to_lower, **dict(zip(capital, small, strict=True))},
            {**self.stand_ins, **{point: sign for points, sign in stand_ins for point in _points(points)}},
        )


UNICODE_16 = Letters({}, {}, {}).adding(
    lower="19B 264 1C8A A7CD A7DB 10D70-10D85",
    upper="A7DC A7CB 1C89 A7CC A7DA 10D50-10D65",
    cased="1C89-1C8A A7CB-A7CD A7DA-A7DC 10D50-10D65 10D70-10D85 1DF25-1DF2A",
    passed_over="897 ECE 10D4E 10D69-10D6D 10D6F 10EFC-10EFF 11241 113BB-113C0 113CE 113D0 113D2 113E1-113E2 11F00-11F01 "
    "11F36-11F3A 11F40 11F42 11F5A 13439-13440 13447-13455 1611E-16129 1612D-1612F 16D40-16D42 16D6B-16D6C "
    "1E030-1E06D 1E08F 1E4EB-1E4EF 1E5EE-1E5EF",
    ends_words="1171E",
)
UNICODE_17 = UNICODE_16.adding(
    lower="A7CF A7D3 A7D5 16EBB-16ED3",
    upper="A7CE A7D2 A7D4 16EA0-16EB8",
    cased="A7CE-A7CF A7D2 A7D4 16EA0-16EB8 16EBB-16ED3",
    passed_over="1ACF-1ADD 1AE0-1AEB A7F1 10EC5 10EFA-10EFB 11B60 11B62-11B64 11B66 11DD9 16FF2-16FF3 1E6E3 1E6E6 "
    "1E6EE-1E6EF 1E6F5 1E6FF",
    ends_words="295",
)


def by_letters(ascii_name: str, function: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    """A function applied to every string of an array; Arrow's own if all of them are ASCII."""
    is_ascii, in_ascii = pc.get_function("string_is_ascii").call, pc.get_function(ascii_name).call

    def apply(texts: pa.Array) -> pa.Array:
        if pc.all(is_ascii([texts])).as_py() is not False:
            return in_ascii([texts])
        return pa.array([None if text is None else function(text) for text in texts.to_pylist()], type=pa.string())

    return apply
