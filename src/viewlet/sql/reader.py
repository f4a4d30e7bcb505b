"""A reader that walks over the words of one statement, and reports what it expected where."""

from __future__ import annotations

from typing import NoReturn

from viewlet.errors import SqlError
from viewlet.plan.words import Word, read_words

_CLOSING = {"(": ")", "[": "]"}


class Reader:
    """The words of a statement and a place among them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = read_words(text)
        self.at = 0

    @property
    def word(self) -> Word:
        """The word at the place."""
        return self.words[self.at]

    def fail(self, expected: str, *, hint: str | None = None) -> NoReturn:
        """Refuse the statement at the place."""
        raise SqlError(f"line {self.word.line}: expected {expected}, found {self.word.shown}", hint=hint)

    def refuse(self, message: str, *, hint: str | None = None) -> NoReturn:
        """Refuse the statement for a reason of its own."""
        raise SqlError(f"line {self.word.line}: {message}", hint=hint)

    def sees(self, *keywords: str) -> bool:
        """Whether the next words are these keywords, in this order."""
        ahead = self.words[self.at : self.at + len(keywords)]
        return len(ahead) == len(keywords) and all(w.key == k for w, k in zip(ahead, keywords, strict=True))

    def accept(self, *keywords: str) -> bool:
        """Step over these keywords if they are next."""
        if not self.sees(*keywords):
            return False
        self.at += len(keywords)
        return True

    def expect(self, *keywords: str) -> None:
        """Step over these keywords, which must be next."""
        for keyword in keywords:
            if not self.accept(keyword):
                self.fail(keyword)

    def name(self, what: str) -> str:
        """A plain or quoted name; `what` says of what, for the error."""
        word = self.word
        if word.kind not in ("name", "quoted"):
            self.fail(f"the name of {what}")
        self.at += 1
        if self.sees("."):
            self.fail(f"one name for {what}", hint="names in a warehouse have one part")
        return unquoted(word)

    def string(self, what: str) -> str:
        """A string, without its quotes."""
        if self.word.kind != "string":
            self.fail(f"{what} in quotes")
        self.at += 1
        return self.words[self.at - 1].text[1:-1]

    def alias(self, *stops: str) -> str | None:
        """`AS name`, or just a name that is none of the keywords that may come next."""
        if self.accept("AS") or (self.word.kind in ("name", "quoted") and self.word.key not in stops):
            return self.name("the alias")
        return None

    def column_of(self, *owners: str | None) -> str:
        """The name of a column, which may follow the name or alias of its table."""
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
        """The text from here to one of the stop words outside parentheses, or to the end.

        Where WHEN or THEN are such words, those inside of a CASE are not.
        """
        start, cases = self.word.start, "WHEN" in stops or "THEN" in stops
        while self.word.kind != "end" and self.word.key not in stops:
            self._skip_case() if cases and self.sees("CASE") else self.skip()
        return self.text[start : self.words[self.at - 1].end] if self.word.start > start else ""

    def skip(self) -> None:
        """Step over a word, or over everything in parentheses or brackets."""
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
        """Step over an expression from CASE to its END."""
        self.at += 1
        while self.word.kind != "end" and (not self.sees("END") or self.words[self.at - 1].key == "."):
            self._skip_case() if self.sees("CASE") else self.skip()
        self.accept("END")

    def rest(self) -> str:
        """The text from here to the end of the statement."""
        text = self.until(";")
        self.end()
        return text

    def end(self) -> None:
        """Nothing may follow but one semicolon."""
        self.accept(";")
        if self.word.kind != "end":
            self.fail("the end of the statement", hint="give one statement at a time")


def unquoted(word: Word) -> str:
    """The name that a word stands for."""
    return word.text[1:-1].replace("``", "`") if word.kind == "quoted" else word.text
