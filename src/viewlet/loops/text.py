"""From a text to the loop that it says, whatever the spelling."""

from __future__ import annotations

from viewlet.loops.iteration_text import read_iteration
from viewlet.loops.recursion_text import read_recursion
from viewlet.loops.syntax import LoopText


def read_loop(text: str) -> LoopText | None:
    """The loop that a query is; None if it is an ordinary one."""
    return read_recursion(text) or read_iteration(text)
