"""Upper and lower case by Unicode 16, which is what Spark uses, whichever version Python knows.

Mappings never change once a character has them, so only characters that came after Unicode 14 need a table.
A capital sigma becomes ς at the end of a word and σ elsewhere, which depends on the characters around it.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc


def _points(ranges: str) -> list[int]:
    """The code points of ranges such as `1C89-1C8A ECE`."""
    pairs = [(r.split("-")[0], r.split("-")[-1]) for r in ranges.split()]
    return [point for first, last in pairs for point in range(int(first, 16), int(last, 16) + 1)]


_LOWER_LETTERS = _points("19B 264 1C8A A7CD A7DB 10D70-10D85")
_UPPER_LETTERS = _points("A7DC A7CB 1C89 A7CC A7DA 10D50-10D65")
_CASED = _points("1C89-1C8A A7CB-A7CD A7DA-A7DC 10D50-10D65 10D70-10D85 1DF25-1DF2A")
_PASSED_OVER = _points(
    "897 ECE 10D4E 10D69-10D6D 10D6F 10EFC-10EFF 11241 113BB-113C0 113CE 113D0 113D2 113E1-113E2 11F00-11F01 "
    "11F36-11F3A 11F40 11F42 11F5A 13439-13440 13447-13455 1611E-16129 1612D-1612F 16D40-16D42 16D6B-16D6C "
    "1E030-1E06D 1E08F 1E4EB-1E4EF 1E5EE-1E5EF"
)
_TO_UPPER = dict(zip(_LOWER_LETTERS, _UPPER_LETTERS, strict=True))
_TO_LOWER = dict(zip(_UPPER_LETTERS, _LOWER_LETTERS, strict=True))
_STAND_INS = {**dict.fromkeys(_CASED, "x"), **dict.fromkeys(_PASSED_OVER, "\u0301"), 0x1171E: " "}
"""Older characters that count the same in telling where a word ends (U+1171E is no longer passed over)."""


def upper(text: str) -> str:
    return text.translate(_TO_UPPER).upper()


def lower(text: str) -> str:
    if "Σ" in text:
        text = _with_small_sigmas(text)
    return text.translate(_TO_LOWER).lower()


def _with_small_sigmas(text: str) -> str:
    """The text with each Σ replaced by the small letter that its place asks for."""
    found = iter([sign for sign in text.translate(_STAND_INS).lower() if sign in "σς"])
    return "".join(next(found) if sign in "Σσς" else sign for sign in text)


def by_letters(ascii_name: str, function: Callable[[str], str]) -> Callable[[pa.Array], pa.Array]:
    """A function of every string of an array: Arrow's own where all of them are ASCII."""
    is_ascii, in_ascii = pc.get_function("string_is_ascii").call, pc.get_function(ascii_name).call

    def apply(texts: pa.Array) -> pa.Array:
        if pc.all(is_ascii([texts])).as_py() is not False:
            return in_ascii([texts])
        return pa.array([None if text is None else function(text) for text in texts.to_pylist()], type=pa.string())

    return apply
