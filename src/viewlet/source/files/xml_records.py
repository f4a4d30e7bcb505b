"""Splits XML files into records, the elements named by `rowTag`, as Spark's reader does."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from functools import cache

from viewlet.errors import SqlError


class Unclosed(Exception):
    """A file ends within a record."""


def split_records(text: str, tag: str) -> Iterator[tuple[int, str]]:
    """The outermost elements with a tag: the number of the first line, from 1, and the text."""
    depth, start, line = 0, 0, 1
    for mark in _marks(tag).finditer(text):
        if mark.lastgroup == "open":
            if depth == 0:
                line += text.count("\n", start, mark.start())
                start = mark.start()
            depth += 1
        if depth and (mark.lastgroup == "close" or mark.group().endswith("/>")):
            depth -= 1
            if depth == 0:
                yield line, text[start : mark.end()]
    if depth:
        raise Unclosed(f"<{tag}> of line {line} is not closed")


@cache
def _marks(tag: str) -> re.Pattern[str]:
    """A pattern for start and end tags; it matches comments and CDATA as a whole, so that tags in them are skipped."""
    name = re.escape(tag)
    return re.compile(
        rf"""(?P<inert><!--.*?-->|<!\[CDATA\[.*?\]\]>)
        |(?P<open><{name}(?=[\s/>])(?:"[^"]*"|'[^']*'|[^>"'])*>)
        |(?P<close></{name}\s*>)""",
        re.VERBOSE | re.DOTALL,
    )


def values_of(text: str, prefix: str) -> dict[str, str]:
    """The texts of a record's attributes and children, by name; raise ValueError if it is not well-formed."""
    try:
        element = ET.fromstring(text)
    except ET.ParseError as error:
        raise ValueError(f"not XML: {error}") from None
    attributes = {prefix + name: value for name, value in element.attrib.items()}
    return attributes | {child.tag: (child.text or "").strip() for child in element}


def row_tag(options: Mapping[str, str]) -> str:
    """The tag of records, which Spark requires."""
    if not options.get("rowtag"):
        raise SqlError("a folder of XML files needs the tag of its records", hint="OPTIONS (rowTag = 'order')")
    return options["rowtag"]
