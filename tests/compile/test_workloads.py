"""The programs of the queries of `workloads/`, at the sizes that their tables have there, without Spark."""

from __future__ import annotations

import pytest

from tests.compile.fixtures import WRITES, read_plans
from tests.compile.workloads import FOLDER, QUERIES, facts
from viewlet.compile import compile_view
from viewlet.program.codec import from_json, to_json
from viewlet.views.define import ABILITIES
from viewlet.views.explain import explain_program


@pytest.mark.parametrize("workload", QUERIES)
def test_programs_of_a_workload(workload: str) -> None:
    plans, known = read_plans(FOLDER / f"{workload}.json"), facts(workload)
    assert list(plans) == list(QUERIES[workload])
    for name, decoded in plans.items():
        program = compile_view(name, decoded.plan, decoded.columns, ABILITIES, facts=known)
        text, path = explain_program(program, verbose=True) + "\n", FOLDER / workload / f"{name}.txt"
        if WRITES:
            path.write_text(text)
        assert text == path.read_text(), name
        assert from_json(to_json(program)) == program, name
