"""Flows as users write them: state as a table, sources and outputs, replacement, trust."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import viewlet
from viewlet import flow
from viewlet.cli.main import main

Row = dict[str, Any]


def counting(**more: Any) -> flow.Flow:
    """Counts the rows of table `words`, deletions too."""
    made = flow.Flow("counts")
    made.source("words")
    state = flow.State(more.pop("schema", "word STRING, n BIGINT"), route_by="word", primary_key="word")

    @made.stage(inputs={"words": "word"}, state=state, **more)
    def count(word: str, inputs: dict[str, list[Row]], state: list[Row]) -> Iterator[tuple[str, Any]]:
        n = state[0]["n"] if state else 0
        n += sum({"insert": 1, "delete": -1}[row["_change_type"]] for row in inputs["words"])
        if n:
            yield "state", {"word": word, "n": n}

    return made


@pytest.fixture
def words(db: viewlet.Database) -> viewlet.Database:
    db.sql("CREATE TABLE words (word STRING)")
    db.insert("words", [("a",), ("b",), ("a",)])
    db.create_flow(counting())
    return db


def state_of(db: viewlet.Database) -> dict[str, int]:
    return dict(db.table("counts_count").rows())


def test_a_source_begins_with_what_is_there_and_goes_on_with_what_changes(words: viewlet.Database) -> None:
    assert words.run_flow("counts") == {"count": 1}
    assert state_of(words) == {"a": 2, "b": 1}
    words.insert("words", [("c",)])
    words.delete("words", [("b",), ("a",)])
    assert words.run_flow("counts") == {"count": 2}, "a run for each epoch"
    assert state_of(words) == {"a": 1, "c": 1}
    assert words.run_flow("counts") == {}


def test_state_is_a_table_that_an_epoch_can_correct(words: viewlet.Database) -> None:
    words.run_flow("counts")
    words.upsert("counts_count", [("a", 100)])
    words.insert("words", [("a",)])
    words.run_flow("counts")
    assert state_of(words) == {"a": 101, "b": 1}
    assert words.table("counts_count").changes()["_change_type"].to_pylist()[-2:] == [
        "update_preimage",
        "update_postimage",
    ]


def test_code_can_change_and_state_stays(words: viewlet.Database) -> None:
    words.run_flow("counts")
    changed = flow.Flow("counts")
    changed.source("words")
    state = flow.State("word STRING, n BIGINT, longest BIGINT", route_by="word", primary_key="word")

    @changed.stage(inputs={"words": "word"}, state=state)
    def count(word: str, inputs: Any, state: list[Row]) -> Iterator[tuple[str, Any]]:
        yield "state", {"word": word, "n": state[0]["n"] + 10 * len(inputs["words"]), "longest": len(word)}

    words.create_flow(changed, replace=True)
    assert sorted(words.table("counts_count").rows()) == [("a", 2, None), ("b", 1, None)]
    words.insert("words", [("a",)])
    words.run_flow("counts")
    assert sorted(words.table("counts_count").rows(), key=str) == [("a", 12, 1), ("b", 1, None)]


def test_a_state_with_other_columns_is_refused(words: viewlet.Database) -> None:
    with pytest.raises(viewlet.FlowError, match="rows with other columns"):
        words.create_flow(counting(schema="word STRING, n INT"), replace=True)
    assert words.run_flow("counts") == {"count": 1}


def test_what_a_flow_reads_and_writes_stays(words: viewlet.Database) -> None:
    with pytest.raises(viewlet.InUse, match="counts read words"):
        words.drop("words")
    with pytest.raises(viewlet.InUse, match="flow counts writes counts_count"):
        words.drop("counts_count")
    with pytest.raises(viewlet.InUse, match="flow counts writes counts_count"):
        words.add_columns("counts_count", "more INT")
    with pytest.raises(viewlet.InUse, match="counts read words"):
        words.rename_column("words", "word", "w")
    with pytest.raises(viewlet.NameTaken, match="a flow named counts"):
        words.create_table("counts", "a INT")
    words.drop_flow("counts")
    words.drop("words")
    assert words.tables == ()
    assert not words._warehouse.store.snapshot().bags


def test_a_table_that_gets_a_column_is_read_on(words: viewlet.Database) -> None:
    words.run_flow("counts")
    words.insert("words", [("b",)])
    with pytest.raises(viewlet.InUse, match="counts has yet to read changes of words"):
        words.add_columns("words", "more INT")
    words.delete("words", [("b",)])
    words.run_flow("counts")
    words.add_columns("words", "more INT")
    words.insert("words", [("a", 1)])
    words.run_flow("counts")
    assert state_of(words) == {"a": 3, "b": 1}


def test_nothing_of_a_run_that_fails_is_there(words: viewlet.Database) -> None:
    made = flow.Flow("fails")
    made.source("words")

    @made.stage(inputs={"words": "word"}, state=flow.State("word STRING", route_by="word"))
    def divide(word: str, inputs: Any, state: list[Row]) -> Iterator[tuple[str, Any]]:
        yield "state", (word,)
        if word == "b":
            raise ZeroDivisionError("b")

    words.create_flow(made)
    with pytest.raises(ZeroDivisionError) as caught:
        words.run_flow("fails")
    assert caught.value.__notes__ == ["raised in stage divide of flow fails, key 'b'; nothing of the run was committed"]
    assert words.table("fails_divide").rows() == []
    with pytest.raises(ZeroDivisionError):
        words.run_flow("fails")


def holding(hold: Any) -> flow.Flow:
    """A flow of one stage that is given its rows."""
    made = flow.Flow("holding")
    made.source("rows", schema="k BIGINT, v BIGINT")
    state = flow.State("k BIGINT, v BIGINT", route_by="k", primary_key="k")
    made.stage(inputs={"rows": "k"}, state=state, name="hold")(hold)
    return made


def hold_sum(key: int, inputs: dict[str, list[Row]], state: list[Row]) -> list[tuple[str, Any]]:
    return [("state", (key, sum(row["v"] for row in [*inputs["rows"], *state])))]


def raise_at_once(key: int, inputs: dict[str, list[Row]], state: list[Row]) -> None:
    raise ValueError("no")


def keep_a_key_twice(key: int, inputs: dict[str, list[Row]], state: list[Row]) -> list[tuple[str, Any]]:
    return [("state", (key, 1)), ("state", (key, 2))]


@pytest.mark.parametrize(
    ("wrong", "error"), [(raise_at_once, ValueError), (keep_a_key_twice, viewlet.RejectedEpoch)], ids=["call", "commit"]
)
def test_rows_that_were_given_wait_where_their_run_fails(
    db: viewlet.Database, wrong: Any, error: type[Exception]
) -> None:
    db.create_flow(holding(wrong))
    with pytest.raises(error):
        db.run_flow("holding", {"rows": ((n % 2, n) for n in range(4))})
    assert db.flow_status("holding")["stages"]["hold"] == {"runs": 0, "waiting": {"rows": 1}, "growing": []}
    db.create_flow(holding(hold_sum), replace=True)
    assert db.run_flow("holding") == {"hold": 1}
    assert sorted(db.table("holding_hold").rows()) == [(0, 2), (1, 4)]


def test_rows_that_are_read_at_once_cost_one_commit(db: viewlet.Database) -> None:
    db.create_flow(holding(hold_sum))
    before = db.status()["epoch"]
    db.run_flow("holding", {"rows": [(1, 1), (2, 2)]})
    assert db.status()["epoch"] == before + 1
    steps = [(run["stage"], run["epoch"], run["read"], run["written"]) for run in db.flow_trace("holding")]
    assert steps == [("sources", before + 1, {}, {"rows": 2}), ("hold", before + 1, {"rows": 2}, {})]


def test_flows_run_no_stored_code_without_trust(words: viewlet.Database) -> None:
    path = words.path
    words.close()
    with viewlet.connect(path, trust=False) as db:
        assert state_of(db) == {}
        with pytest.raises(viewlet.UntrustedCode, match="flow counts runs code"):
            db.run_flow("counts")


def test_a_vectorized_stage_gets_all_groups_at_once(db: viewlet.Database) -> None:
    made = flow.Flow("sums")
    made.source("events", schema="user STRING, amount BIGINT")

    @made.stage(
        inputs={"events": "user"},
        state=flow.State("user STRING, total BIGINT", route_by="user", primary_key="user"),
        vectorized=True,
    )
    def total(keys: pa.Table, inputs: dict[str, pa.Table], state: pa.Table) -> dict[str, pa.Table]:
        amounts = inputs["events"].select(["_group", "amount"])
        both = pa.concat_tables([amounts, state.select(["_group", "total"]).rename_columns(["_group", "amount"])])
        sums = both.group_by("_group").aggregate([("amount", "sum")])
        return {"state": pa.table({"user": keys["user"].take(sums["_group"]), "total": sums["amount_sum"]})}

    db.create_flow(made)
    db.run_flow("sums", {"events": [("x", 1), ("y", 2), ("x", 3)]})
    db.run_flow("sums", {"events": [("x", 10), ("z", 5)]})
    assert dict(db.table("sums_total").rows()) == {"x": 14, "y": 2, "z": 5}


def test_a_parameter_reaches_every_group_and_stays(db: viewlet.Database) -> None:
    made = flow.Flow("top")
    made.source("scores", schema="team STRING, points BIGINT")
    made.source("k", schema="k BIGINT")

    @made.stage(
        inputs={"scores": flow.Input("team", order_by="points"), "k": flow.ALL},
        outputs={"best": flow.Output("team STRING, points BIGINT", table="best")},
        runnable=flow.look_up("k"),
    )
    def top(team: str, inputs: dict[str, list[Row]], state: None) -> list[Row]:
        return inputs["scores"][-inputs["k"][0]["k"] :]

    db.create_flow(made)
    db.run_flow("top", {"scores": [("r", 1), ("r", 5), ("s", 2), ("r", 3)]})
    assert db.table("best").rows() == [], "there is no k yet"
    db.run_flow("top", {"k": [(2,)]})
    assert sorted(db.table("best").rows()) == [("r", 3), ("r", 5), ("s", 2)]
    db.run_flow("top", {"k": [(1,)], "scores": [("s", 7), ("s", 9)]})
    assert sorted(db.table("best").rows())[3:] == [("s", 9)], "the newest k"
    db.run_flow("top", {"scores": [("s", 7), ("s", 8)]})
    assert sorted(db.table("best").rows())[3:] == [("s", 8), ("s", 9)], "it stays"


def test_outputs_with_change_types_delete_too(db: viewlet.Database) -> None:
    made = flow.Flow("mirror")
    db.create_table("people", "id BIGINT, name STRING", primary_key="id")
    made.source("people")
    bag = flow.Output("id BIGINT, name STRING, _change_type STRING", table="bag")
    keyed = flow.Output("id BIGINT, name STRING, _change_type STRING", table="keyed", primary_key="id")

    @made.row_wise("people", {"bag": bag, "keyed": keyed})
    def copy(row: Row) -> dict[str, list[Row]]:
        return {"bag": [row], "keyed": [row]}

    db.create_flow(made)
    db.insert("people", [(1, "a"), (2, "b")])
    db.run_flow("mirror")
    with db.epoch() as e:
        e.upsert("people", [(1, "c"), (3, "d")])
        e.delete("people", [(2,)])
    db.run_flow("mirror")
    for name in ("people", "bag", "keyed"):
        assert sorted(db.table(name).rows()) == [(1, "c"), (3, "d")], name


def test_a_class_can_be_a_stage(words: viewlet.Database) -> None:
    made = flow.Flow("lengths")
    made.source("words")

    @made.stage(inputs={"words": ()}, outputs={"n": flow.Output("n BIGINT", table="lengths_n")}, name="length")
    class Length:
        def translate(self, key: tuple[()], inputs: dict[str, list[Row]], state: None) -> list[tuple[int]]:
            return [(sum(len(row["word"]) for row in inputs["words"]),)]

    words.create_flow(made)
    words.run_flow("lengths")
    assert words.table("lengths_n").rows() == [(3,)]


def test_the_command_line_runs_flows_and_says_what_they_do(
    words: viewlet.Database, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(words.path)
    words.close()
    assert main(["--warehouse", path, "flow", "run", "counts"]) == 0
    assert capsys.readouterr().out == "count: 1 run\n"
    assert main(["--warehouse", path, "flow", "run", "counts"]) == 0
    assert capsys.readouterr().out == "nothing to do\n"
    assert main(["--warehouse", path, "flow", "status"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["counts", "1", "1", "0"]
    assert main(["flow", "status", "--warehouse", path, "counts"]) == 0
    told = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["count", "1", "words", "0"] in told
    assert ["counts_count", "2"] in told
    assert main(["--warehouse", path, "flow", "trace", "counts"]) == 0
    assert "words 3" in capsys.readouterr().out.splitlines()[-1]
    assert main(["--warehouse", path, "flow", "trace", "--plot", "counts"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["sources", "count"]
    assert lines[1].index(lines[1].split()[1]) == lines[0].index(lines[0].split()[1]) + 1
    assert main(["--warehouse", path, "flow", "run", "nothing"]) == 1
    assert "there is no flow named nothing (hint: there are: counts)" in capsys.readouterr().err
    assert main(["--warehouse", path, "history", "counts_count"]) == 0
    assert "stage count of flow counts" in capsys.readouterr().out


def marks_on_disk(folder: Path) -> set[str]:
    """The marks in the bytes of all files."""
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return {mark.decode() for file in files for mark in re.findall(rb"mark-\w+", file)}


def test_what_all_have_passed_leaves_no_byte_on_disk(tmp_path: Path) -> None:
    """State that is not written again, and increments that all consumers have removed."""
    made = flow.Flow("passing")
    made.source("rows", schema="k BIGINT, text STRING")
    columns = "k BIGINT, text STRING"

    @made.stage(inputs={"rows": "k"}, state=flow.State(columns, route_by="k"), outputs={"passed": columns})
    def hold(key: int, inputs: dict[str, list[Row]], state: list[Row]) -> dict[str, list[Row]]:
        rows = inputs["rows"]
        return {"state": rows, "passed": [{**row, "text": row["text"].replace("held", "passed")} for row in rows]}

    @made.stage(inputs={"passed": "k"}, state=flow.State("k BIGINT, n BIGINT", route_by="k"))
    def count(key: int, inputs: dict[str, list[Row]], state: list[Row]) -> dict[str, list[Any]]:
        return {"state": [(key, len(inputs["passed"]) + sum(row["n"] for row in state))]}

    def rows(number: int) -> list[tuple[int, str]]:
        return [(n, f"mark-held{number} {n}" + "x" * 200) for n in range(60)]

    folder = tmp_path / "w"
    with viewlet.connect(folder, durability=1000) as db:
        db.create_flow(made)
        db.set_retention(epochs=1)
        db.run_flow("passing", {"rows": rows(0)}, runs=1)
        assert marks_on_disk(folder) == {"mark-held0", "mark-passed0"}, "the increment waits"
        for number in range(1, 70):
            db.run_flow("passing", {"rows": rows(number)})
    with viewlet.connect(folder, durability=1000) as db:
        store = db._warehouse.store
        store.settle()
        store.clean()
        tables = ("passing_count", "passing_count.index", "passing_hold", "passing_hold.index")
        assert sorted(store.snapshot().bags) == ["passing.state_control", *tables], "no increment waits"
        assert sorted(db.table("passing_hold").rows()) == rows(69)
        assert dict(db.table("passing_count").rows()) == dict.fromkeys(range(60), 70)
        left = marks_on_disk(folder)
    assert not left & {f"mark-{kind}{number}" for kind in ("held", "passed") for number in range(60)}


def count_long_words(db: viewlet.Database) -> None:
    """A flow that reads a view."""
    db.sql("CREATE TABLE words (word STRING)")
    db.sql("CREATE MATERIALIZED VIEW long_words AS SELECT word FROM words WHERE length(word) > 1")
    made = counting()
    made.sources.clear()
    made.source("words", table="long_words")
    db.create_flow(made)


@pytest.mark.spark
def test_views_over_a_flow_are_fresh_in_the_commit_of_the_run(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, durability=1000) as db:
        count_long_words(db)
        db.sql("CREATE MATERIALIZED VIEW total AS SELECT sum(n) AS n FROM counts_count")
        db.insert("words", [("aa",), ("b",), ("aa",), ("cc",)])
        db.run_flow("counts")
        assert db.table("total").rows() == [(3,)]
        db.delete("words", [("aa",)])
        db.run_flow("counts")
        assert db.table("total").rows() == [(2,)]
        assert db.check("total").num_rows == 0
        both = {r["epoch"]: (set(r["tables"]), set(r["views"])) for r in db.flow_trace("counts")}
        assert both[db.status()["epoch"]] == ({"counts_count"}, {"total"})


@pytest.mark.spark
def test_what_cascades_is_not_dropped_below_a_flow_or_a_sink(tmp_path: Path, spark: Any) -> None:
    with viewlet.connect(tmp_path / "w", spark=spark, durability=1000) as db:
        count_long_words(db)
        with pytest.raises(viewlet.InUse, match="counts read long_words"):
            db.sql("DROP TABLE words CASCADE")
        db.sql(f"CREATE SINK files FROM counts_count TO FOLDER '{tmp_path / 'out'}'")
        with pytest.raises(viewlet.InUse, match="counts_count has sinks: files"):
            db.drop_flow("counts")
        db.sql("DROP SINK files")
        db.drop_flow("counts")
        db.sql(f"CREATE SINK files FROM long_words TO FOLDER '{tmp_path / 'out'}'")
        with pytest.raises(viewlet.InUse, match="long_words has sinks: files"):
            db.sql("DROP TABLE words CASCADE")
        assert (db.tables, db.views) == (("words",), ("long_words",))
        db.sql("DROP SINK files")
        db.sql("DROP TABLE words CASCADE")
        assert (db.tables, db.views) == ((), ())


@pytest.mark.spark
def test_a_view_is_a_stage(tmp_path: Path, spark: Any) -> None:
    made = counting()
    made.view("heavy", "SELECT word, n FROM counts_count WHERE n > 1")
    told = flow.Output("word STRING, n BIGINT, _change_type STRING", table="told")

    @made.row_wise("heavy", {"told": told})
    def tell(row: Row) -> list[Row]:
        return [row]

    with viewlet.connect(tmp_path / "w", spark=spark, durability=1000) as db:
        db.sql("CREATE TABLE words (word STRING)")
        db.create_flow(made)
        for words in ("a", "ab", "bbc"):
            db.insert("words", [(word,) for word in words])
            db.run_flow("counts")
        assert sorted(db.table("told").rows()) == sorted(db.table("heavy").rows()) == [("a", 2), ("b", 3)]
        db.delete("words", [("b",), ("b",)])
        db.run_flow("counts")
        assert db.table("told").rows() == [("a", 2)]
        db.create_flow(made, replace=True)
        db.insert("words", [("c",)])
        db.run_flow("counts")
        assert sorted(db.table("told").rows()) == [("a", 2), ("c", 2)]
        with pytest.raises(viewlet.InUse, match="counts read heavy"):
            db.drop("heavy")
        with pytest.raises(viewlet.InUse, match="counts read heavy, whose change feed would start over"):
            db.rebuild("heavy")
        with pytest.raises(viewlet.InUse, match="counts read heavy"):
            db.create_view("heavy", "SELECT word, n FROM counts_count", replace=True)
        db.drop_flow("counts")
        assert (db.tables, db.views) == (("words",), ())
