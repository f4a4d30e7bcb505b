"""Parses loops in any of their SQL forms."""

from __future__ import annotations

from viewlet.loops.language.iteration_text import read_iteration
from viewlet.loops.language.recursion_text import read_recursion
from viewlet.loops.language.syntax import LoopText


def read_loop(text: str) -> LoopText | None:
    """Parse a loop; None if the query is an ordinary one."""
    return read_recursion(text) or read_iteration(text)
