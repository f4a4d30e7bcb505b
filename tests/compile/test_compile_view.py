"""What compiling a view depends on besides its plan: users' aggregates, and the policy."""

from __future__ import annotations

import pytest

from tests.compile.fixtures import FOLDER, read_plans
from viewlet.compile import Facts, compile_view
from viewlet.plan.expr import Column, Handlers, Named, Reduce
from viewlet.plan.nodes import Aggregate, Scan
from viewlet.plan.types import BIGINT, Field
from viewlet.program.program import operators
from viewlet.views.define import ABILITIES

WORD, LETTER = Field("word", BIGINT), Field("letter", BIGINT)


@pytest.mark.parametrize(
    ("merges", "inverts", "grows", "tier", "reason"),
    [
        (True, True, False, "ring", "states with an inverse: the delta alone changes them"),
        (True, False, True, "monoid", "its input only grows: the state of mine is kept, no rows"),
        (True, False, False, "keyed", "mine has no inverse, and rows may be deleted"),
        (False, False, True, "keyed", "mine has no merge: the touched group is replayed from its rows"),
    ],
)
def test_tier_of_an_aggregate_with_handlers(merges: bool, inverts: bool, grows: bool, tier: str, reason: str) -> None:
    handlers = Handlers((Field("n", BIGINT),), merges, inverts, b"")
    call = Reduce("mine[1]", (Column("word", BIGINT),), BIGINT, handlers=handlers)
    letter, result = Column("letter", BIGINT), Field("mine", BIGINT)
    results = (Named("letter", letter), Named("mine", call))
    plan = Aggregate(Scan("words", (LETTER, WORD), origin=1), (letter,), results, (LETTER, result), origin=0)
    facts = Facts(growing=frozenset({"words"} if grows else ()))
    program = compile_view("v", plan, plan.columns, ABILITIES, facts=facts)
    note = program.notes[0]
    assert note.tier == tier
    assert note.reason.startswith(reason)


def test_full_recomputes_the_whole_definition() -> None:
    decoded = read_plans(FOLDER / "ring/sum_aggregate.json")["DISTINCT"]
    program = compile_view("v", decoded.plan, decoded.columns, ABILITIES, full=True)
    (_, whole), *scans = operators(program.notes)
    assert (whole.tier, whole.reason.split(";")[0]) == ("recompute", "REFRESH POLICY FULL")
    assert [note.label.split(" [")[0] for _, note in scans] == ["Scan orders"]
