"""Block fusion (Nikolic 2016, figure 5.4): statements that can run together form one block.

Two statements commute unless one reads what the other makes. A statement says whether it reads old or new states of
maps, so nothing else depends on the order.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewlet.program.distributed import Block, Statement, Update, mode_of, reads_of


def single_blocks(statements: Sequence[Statement]) -> tuple[Block, ...]:
    """Every statement as a block of its own."""
    return tuple(Block(mode_of(s), (s,)) for s in statements)


def fuse(statements: Sequence[Statement]) -> tuple[Block, ...]:
    """As few blocks as the data dependencies allow."""
    blocks: list[Block] = []
    while statements:
        block, statements = _merge_into_head(statements)
        blocks.append(block)
    return tuple(blocks)


def _merge_into_head(statements: Sequence[Statement]) -> tuple[Block, list[Statement]]:
    """The first statement with all of its mode that commute with the statements left behind; and the latter."""
    mode = mode_of(statements[0])
    head: list[Statement] = []
    rest: list[Statement] = []
    made: set[str] = set()
    for statement in statements:
        if mode_of(statement) == mode and not reads_of(statement) & made:
            head.append(statement)
        else:
            rest.append(statement)
            made.add(statement.name)
    return Block(mode, tuple(head)), rest


def without_dead_code(statements: Sequence[Statement]) -> list[Statement]:
    """The statements that update a stored map, or compute something that is read."""
    kept: list[Statement] = []
    read: set[str] = set()
    for statement in reversed(statements):
        if (isinstance(statement, Update) and statement.map.stored) or statement.name in read:
            kept.append(statement)
            read |= reads_of(statement)
    return kept[::-1]
