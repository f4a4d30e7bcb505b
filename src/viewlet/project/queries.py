"""Rewrites a project's queries: streams, files and qualified names become names of one part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewlet.errors import ProjectError
from viewlet.plan.words import Word, quoted, read_words
from viewlet.sql.reader import unquoted

FORMATS = ("csv", "json", "parquet", "xml")


@dataclass(frozen=True)
class Names:
    """The rewrites of names in a text."""

    table: Callable[[str], str]
    """Rewrites the name of a dataset, qualified or not; other names stay."""
    stream: Callable[[str], str]
    files: Callable[[str, str, bool], str]
    """Names the files of a format and path; the last argument: whether they are a stream."""
    watermarked: Callable[[str, str, str], str] = lambda stream, _, __: stream
    """Names a stream with a watermark, given the stream, the expression of event times, and the delay."""


def rewrite(text: str, names: Names) -> str:
    """Rewrite a query to names of one part."""
    words, pieces, at, done = read_words(text), [], 0, 0
    while words[at].kind != "end":
        found = _stream(words, at, names) or _files(words, at, names) or _table(words, at, names)
        if found is None:
            at += 1
            continue
        replacement, after = found
        pieces += [text[done : words[at].start], replacement]
        done, at = words[after - 1].end, after
    return "".join([*pieces, text[done:]])


def _qualified(words: list[Word], at: int) -> tuple[str, int]:
    """The possibly qualified name at a position, and the position after it."""
    parts = [unquoted(words[at])]
    while words[at + 1].key == "." and words[at + 2].kind in ("name", "quoted"):
        at += 2
        parts.append(unquoted(words[at]))
    return ".".join(parts), at + 1


def _stream(words: list[Word], at: int, names: Names) -> tuple[str, int] | None:
    """`STREAM(name)` and `STREAM name`"""
    if words[at].key != "STREAM" or words[at - 1].key not in ("FROM", "JOIN", ",", "("):
        return None
    inside = words[at + 1].key == "("
    start = at + 2 if inside else at + 1
    if (files := _files(words, start, names, is_stream=True)) is not None:
        return _watermark(words, files[1] + inside, names, files[0])
    if words[start].kind not in ("name", "quoted"):
        return None
    name, after = _qualified(words, start)
    if inside and words[after].key != ")":
        raise ProjectError(
            f"STREAM({name}…) does not name a dataset", hint="read files with spark.readStream, in Python"
        )
    return _watermark(words, after + inside, names, names.stream(name))


def _watermark(words: list[Word], at: int, names: Names, stream: str) -> tuple[str, int]:
    """`WATERMARK time DELAY OF INTERVAL 10 MINUTES` after a stream, if present."""
    delay = next((i for i in range(at, len(words)) if words[i].key == "DELAY"), None)
    if words[at].key != "WATERMARK" or delay is None or words[delay + 2].key != "INTERVAL":
        return stream, at  # absent, or invalid for Spark, too
    end = delay + 3
    while words[end].kind in ("number", "string"):
        if any(c.isalpha() for c in words[end].text):  # '10 minutes' includes its unit
            end += 1
        else:
            end += 4 if words[end + 2 : end + 3] and words[end + 2].key == "TO" else 2
    time, interval = (" ".join(word.text for word in words[a:b]) for a, b in ((at + 1, delay), (delay + 3, end)))
    return names.watermarked(stream, time, interval.replace("'", "")), end


def _files(words: list[Word], at: int, names: Names, *, is_stream: bool = False) -> tuple[str, int] | None:
    """``csv.`path` ``"""
    is_path = words[at].text.lower() in FORMATS and words[at].kind == "name" and words[at - 1].key != "."
    if not is_path or words[at + 1].key != "." or words[at + 2].kind != "quoted":
        return None
    return quoted(names.files(words[at].text.lower(), unquoted(words[at + 2]), is_stream)), at + 3


def _table(words: list[Word], at: int, names: Names) -> tuple[str, int] | None:
    """A name after FROM, JOIN or a comma."""
    if words[at].kind not in ("name", "quoted") or words[at - 1].key not in ("FROM", "JOIN", ",", "TABLE"):
        return None
    name, after = _qualified(words, at)
    found = names.table(name)
    return None if found == name else (quoted(found), after)
