"""From a text to the loop that it says, whatever the spelling."""

from __future__ import annotations

from viewlet.loops.language.iteration_text import read_iteration
from viewlet.loops.language.recursion_text import read_recursion
from viewlet.loops.language.syntax import LoopText


def read_loop(text: str) -> LoopText | None:
    """The loop that a query is; None if it is an ordinary one."""
    return read_recursion(text) or read_iteration(text)
