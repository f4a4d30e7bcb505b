"""A reader of the words of one statement, which reports what it expected where."""

from __future__ import annotations

from typing import NoReturn

from viewlet.errors import SqlError
from viewlet.plan.words import Word, read_words

_CLOSING = {"(": ")", "[": "]"}


class Reader:
    """The words of a statement and a position among them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = read_words(text)
        self.at = 0

    @property
    def word(self) -> Word:
        """The current word."""
        return self.words[self.at]

    def fail(self, expected: str, *, hint: str | None = None) -> NoReturn:
        """Raise a syntax error at the current word."""
        raise SqlError(f"line {self.word.line}: expected {expected}, found {self.word.shown}", hint=hint)

    def refuse(self, message: str, *, hint: str | None = None) -> NoReturn:
        """Raise an error at the current line."""
        raise SqlError(f"line {self.word.line}: {message}", hint=hint)

    def sees(self, *keywords: str) -> bool:
        """Whether the next words are these keywords, in this order."""
        ahead = self.words[self.at : self.at + len(keywords)]
        return len(ahead) == len(keywords) and all(w.key == k for w, k in zip(ahead, keywords, strict=True))

    def accept(self, *keywords: str) -> bool:
        """Consume these keywords if they are next."""
        if not self.sees(*keywords):
            return False
        self.at += len(keywords)
        return True

    def expect(self, *keywords: str) -> None:
        """Consume these keywords, or fail."""
        for keyword in keywords:
            if not self.accept(keyword):
                self.fail(keyword)

    def name(self, what: str) -> str:
        """Consume a plain or quoted name; `what` describes it in errors."""
        word = self.word
        if word.kind not in ("name", "quoted"):
            self.fail(f"the name of {what}")
        self.at += 1
        if self.sees("."):
            self.fail(f"one name for {what}", hint="names in a warehouse have one part")
        return unquoted(word)

    def string(self, what: str) -> str:
        """Consume a string; return it without quotes."""
        if self.word.kind != "string":
            self.fail(f"{what} in quotes")
        self.at += 1
        return self.words[self.at - 1].text[1:-1]

    def alias(self, *stops: str) -> str | None:
        """`AS name`, or just a name that is not one of the stop words."""
        if self.accept("AS") or (self.word.kind in ("name", "quoted") and self.word.key not in stops):
            return self.name("the alias")
        return None

    def column_of(self, *owners: str | None) -> str:
        """The name of a column, optionally qualified by one of `owners`."""
        known = [owner.lower() for owner in owners if owner]
        if self.words[self.at + 1].key == "." and unquoted(self.word).lower() in known:
            self.at += 2
        return self.name("a column")

    def names(self, what: str) -> tuple[str, ...]:
        """Names in parentheses."""
        self.expect("(")
        found = [self.name(what)]
        while self.accept(","):
            found.append(self.name(what))
        if not self.accept(")"):
            self.fail(", or )")
        return tuple(found)

    def until(self, *stops: str) -> str:
        """Consume the text up to one of the stop words outside of parentheses, or to the end.

        If WHEN or THEN are stop words, those inside a CASE do not count.
        """
        start, cases = self.word.start, "WHEN" in stops or "THEN" in stops
        while self.word.kind != "end" and self.word.key not in stops:
            self._skip_case() if cases and self.sees("CASE") else self.skip()
        return self.text[start : self.words[self.at - 1].end] if self.word.start > start else ""

    def skip(self) -> None:
        """Skip a word, or everything in parentheses or brackets."""
        opening, closing = self.word, _CLOSING.get(self.word.key)
        self.at += 1
        if closing is None:
            return
        while self.word.key != closing:
            if self.word.kind == "end":
                raise SqlError(f"line {opening.line}: the {opening.text} here is never closed", hint=f"add {closing}")
            self.skip()
        self.at += 1

    def _skip_case(self) -> None:
        """Skip an expression from CASE to its END."""
        self.at += 1
        while self.word.kind != "end" and (not self.sees("END") or self.words[self.at - 1].key == "."):
            self._skip_case() if self.sees("CASE") else self.skip()
        self.accept("END")

    def rest(self) -> str:
        """Consume the text up to the end of the statement."""
        text = self.until(";")
        self.end()
        return text

    def end(self) -> None:
        """Expect the end, with an optional semicolon."""
        self.accept(";")
        if self.word.kind != "end":
            self.fail("the end of the statement", hint="give one statement at a time")


def unquoted(word: Word) -> str:
    """The name that a word stands for."""
    return word.text[1:-1].replace("``", "`") if word.kind == "quoted" else word.text
