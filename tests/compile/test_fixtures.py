"""Each pass and tier of the compiler: what it gives for the plans of its fixtures. Nothing here starts Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import viewlet.compile
from tests.compile.fixtures import FOLDER, MODULES, WRITES, Case, read_cases, read_plans, write_case
from tests.compile.gives import MODULES as GIVES
from tests.compile.gives import as_text
from viewlet.compile import compile_view
from viewlet.program.codec import from_json, to_json
from viewlet.views.define import ABILITIES

CASES = [pytest.param(module, case, id=f"{module}: {case.title}") for module in MODULES for case in read_cases(module)]


def test_every_module_has_fixtures() -> None:
    folder = Path(viewlet.compile.__file__).parent
    modules = {str(p.relative_to(folder).with_suffix("")) for p in folder.rglob("*.py") if p.stem != "__init__"}
    assert modules == set(GIVES) == set(MODULES)


@pytest.mark.parametrize(("module", "case"), CASES)
def test_module_gives_what_its_fixture_says(module: str, case: Case) -> None:
    decoded = read_plans(FOLDER / f"{module}.json")[case.title]
    text = as_text(GIVES[module](decoded, case.known))
    if WRITES:
        write_case(module, case, text)
    else:
        assert text == case.expected


@pytest.mark.parametrize(("module", "case"), CASES)
def test_program_comes_back_from_json(module: str, case: Case) -> None:
    decoded = read_plans(FOLDER / f"{module}.json")[case.title]
    program = compile_view("v", decoded.plan, decoded.columns, ABILITIES, facts=case.known)
    assert from_json(to_json(program)) == program
    assert from_json(to_json(decoded.plan)) == decoded.plan


def test_the_compiler_is_tested_without_spark() -> None:
    code = "import sys, tests.compile.test_fixtures; sys.exit(any(m.split('.')[0] in ('pyspark', 'py4j') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
