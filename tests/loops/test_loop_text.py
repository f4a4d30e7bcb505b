"""Loops as texts: every spelling is one form, and what is no loop says why."""

from __future__ import annotations

import pytest

from viewlet.errors import SqlError
from viewlet.loops.language.read_loop import read_loop
from viewlet.loops.language.recursion_text import mentioned
from viewlet.loops.language.syntax import Limit, State, Until
from viewlet.sql import parse, split
from viewlet.sql.statements import CreateView


def test_union_is_taken_apart_into_first_rows_and_step() -> None:
    loop = read_loop("WITH RECURSIVE t(v) AS (SELECT 0 UNION SELECT dst FROM t JOIN e ON src = v) SELECT * FROM t;")
    assert loop is not None
    assert loop.states == (State("t", ("v",), "(SELECT 0)", "(SELECT dst FROM t JOIN e ON src = v)", "distinct"),)
    assert loop.result == "SELECT * FROM t"
    assert loop.limit is None


@pytest.mark.parametrize(
    ("connector", "more", "merge"),
    [("UNION ALL", "", "all"), ("UNION", "", "distinct"), ("UNION DISTINCT", "", "distinct"), ("UNION", " USING KEY (v)", "key")],
)  # fmt: skip
def test_the_connector_and_the_key_say_how_rounds_are_merged(connector: str, more: str, merge: str) -> None:
    loop = read_loop(f"WITH RECURSIVE t(v){more} AS ((SELECT 0) {connector} (SELECT v FROM t)) SELECT 1")
    assert loop is not None
    assert loop.states[0].merge == merge


def test_first_rows_may_come_last_and_parentheses_may_stand_around_all() -> None:
    loop = read_loop("WITH RECURSIVE t AS ((SELECT v FROM t UNION SELECT 1 AS v UNION SELECT 2)) SELECT * FROM t")
    assert loop is not None
    assert (loop.states[0].initial, loop.states[0].step) == ("(SELECT 1 AS v) UNION (SELECT 2)", "(SELECT v FROM t)")


def test_names_that_are_not_recursive_go_where_they_are_read() -> None:
    loop = read_loop(
        "WITH RECURSIVE b(x) AS (SELECT 1), t AS (SELECT x FROM b UNION SELECT x + 1 FROM t, b), u AS (SELECT * FROM t)"
        " SELECT * FROM u"
    )
    assert loop is not None
    assert [s.name for s in loop.states] == ["t"]
    assert loop.states[0].initial == "WITH `b`(`x`) AS (SELECT 1) SELECT * FROM ((SELECT x FROM b))"
    assert loop.result == "WITH `b`(`x`) AS (SELECT 1), `u` AS (SELECT * FROM t) SELECT * FROM (SELECT * FROM u)"


def test_several_names_may_read_each_other() -> None:
    loop = read_loop(
        "WITH RECURSIVE a AS (SELECT 1 AS x UNION SELECT x FROM b), b AS (SELECT 2 AS x UNION SELECT x FROM a) SELECT * FROM a"
    )
    assert loop is not None
    assert [s.name for s in loop.states] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("WITH RECURSIVE t MAX RECURSION LEVEL 5 AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT 1", Limit(4)),
        ("WITH RECURSIVE (ERROR AT RECURSION LIMIT 5) t AS (SELECT 1 UNION SELECT * FROM t) SELECT 1", Limit(5)),
        (
            "WITH RECURSIVE (RETURN AT RECURSION LIMIT 5) t AS (SELECT 1 UNION SELECT * FROM t) SELECT 1",
            Limit(5, False),
        ),
    ],
)
def test_limits(text: str, limit: Limit) -> None:
    loop = read_loop(text)
    assert loop is not None
    assert loop.limit == limit


@pytest.mark.parametrize(
    "text", ["SELECT 1", "WITH t AS (SELECT 1) SELECT * FROM t", "WITH RECURSIVE t AS (SELECT 1) SELECT * FROM t"]
)
def test_other_queries_are_no_loops(text: str) -> None:
    assert read_loop(text) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("WITH RECURSIVE t AS (SELECT * FROM t) SELECT 1", "every part of `t` reads what is recursive"),
        ("WITH RECURSIVE t AS (SELECT 1 UNION SELECT 2 UNION ALL SELECT * FROM t) SELECT 1", "mixes UNION and UNION ALL"),
        ("WITH RECURSIVE t MAX RECURSION LEVEL 0 AS (SELECT 1 UNION SELECT * FROM t) SELECT 1", "a whole number from 1 on"),
        (
            "WITH RECURSIVE t AS (SELECT 1 AS x UNION SELECT x FROM t), u AS (SELECT x FROM t UNION SELECT x FROM u) SELECT 1",
            "`u` reads the result of the recursive `t`",
        ),
        ("INITIALIZE t AS (SELECT 1) ITERATE UNTIL FIXPOINT RETURN SELECT 1", "expected SET"),
        ("INITIALIZE t AS (SELECT 1) ITERATE SET t = SELECT 1 UNTIL 1 = 1 ON u BY k RETURN SELECT 1", "no SET changes `u`"),
        ("INITIALIZE t AS (SELECT 1) ITERATE SET t = SELECT 1; SET t = SELECT 2 UNTIL FIXPOINT RETURN SELECT 1", "has a query already"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        read_loop(text)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT a, t FROM u", set()),
        ("SELECT t.a FROM u, t WHERE 1 = 1", {"t"}),
        ("SELECT * FROM u JOIN T ON u.t = T.a", {"t"}),
        ("SELECT * FROM u WHERE a IN (SELECT a FROM `t`)", {"t"}),
        ("SELECT t(a), b AS t FROM u ORDER BY a, t", set()),
        ("FROM t SELECT 1", {"t"}),
    ],
)
def test_what_a_query_reads(query: str, found: set[str]) -> None:
    assert mentioned(query, {"t"}) == found


def test_statements_of_iterate_read_what_was_set_before_them() -> None:
    loop = read_loop(
        "INITIALIZE g AS (SELECT src, dst, 1.0 AS score FROM graph), n AS (SELECT src, count(*) AS c FROM graph GROUP BY src) "
        "ITERATE SET score = SELECT dst, sum(g.score / n.c) AS score FROM g JOIN n USING (src) GROUP BY dst; "
        "LET m = SELECT max(score) AS top FROM score; "
        "SET g = SELECT g.src, g.dst, score.score FROM g JOIN score ON g.src = score.dst, m "
        "UNTIL max(abs(new.score - old.score)) < 0.01 ON g BY (src, dst) MAX 20 RETURN SELECT * FROM g"
    )
    assert loop is not None
    assert loop.converges
    assert [s.name for s in loop.states] == ["g"]  # `score` is always set before it is read
    assert loop.until == Until("max(abs(new.score - old.score)) < 0.01", "g", ("src", "dst"))
    assert loop.limit == Limit(20, is_error=False)
    assert loop.states[0].step.startswith("WITH `n` AS (")
    assert "`score` AS (" in loop.states[0].step


def test_repeat() -> None:
    loop = read_loop("REPEAT x = SELECT 1 AS a STEP SELECT a + 1 AS a FROM x LIMIT 7")
    assert loop is not None
    assert loop.states == (State("x", (), "SELECT 1 AS a", "SELECT a + 1 AS a FROM x", "last"),)
    assert loop.limit == Limit(7, is_error=False)
    assert loop.result == "SELECT * FROM `x`"


def test_semicolons_inside_of_a_loop_end_no_statement() -> None:
    loop = "INITIALIZE t AS (SELECT 1) ITERATE LET u = SELECT 1; SET t = SELECT 2; UNTIL FIXPOINT RETURN SELECT 1"
    created = f"CREATE MATERIALIZED VIEW v AS {loop}"
    assert [text for _, text in split(f"SELECT 0; {created}; SELECT iterate; SELECT 2")] == [
        "SELECT 0", created, "SELECT iterate", "SELECT 2",
    ]  # fmt: skip
    statement = parse(created)
    assert isinstance(statement, CreateView)
    assert statement.query == loop
