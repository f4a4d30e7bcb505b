"""Where a warehouse may be: what a path means, and that nothing else becomes a warehouse or is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import viewlet
from viewlet import StoreError
from viewlet.cli.main import main

READING = [["status"], ["check"], ["explain", "v"], ["history", "v"]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, which is the current one, too."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["~/x y", "file:{home}/x%20y", "file://{home}/x%20y", "file://localhost{home}/x y"])
def test_home_and_file_addresses_are_local_folders(home: Path, name: str) -> None:
    with viewlet.connect(name.format(home=home)) as db:
        assert db.path == home / "x y"
    assert os.listdir(home) == ["x y"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hdfs://host:9000/x", "no put-if-absent for hdfs"),
        (Path("ftp://host/x"), "no put-if-absent for ftp"),
        ("file://elsewhere/x", "another host, elsewhere"),
        ("", "is empty"),
    ],
)
def test_what_can_hold_no_warehouse_is_refused_by_name(home: Path, name: str | Path, said: str) -> None:
    for read_only in (False, True):
        with pytest.raises(StoreError, match=said):
            viewlet.connect(name, read_only=read_only)
    assert not os.listdir(home)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_with_other_things_is_left_alone(tmp_path: Path, read_only: bool) -> None:
    (tmp_path / "passwd").touch()
    with pytest.raises(StoreError, match="no warehouse"):
        viewlet.connect(tmp_path, read_only=read_only)
    with pytest.raises(StoreError, match="is a file"):
        viewlet.connect(tmp_path / "passwd", read_only=read_only)
    assert os.listdir(tmp_path) == ["passwd"]


def test_a_new_or_empty_folder_becomes_a_warehouse(tmp_path: Path) -> None:
    (tmp_path / "volume" / "lost+found").mkdir(parents=True)
    for folder in (tmp_path / "new" / "deep", tmp_path / "volume"):
        with viewlet.connect(folder) as db:
            db.create_table("t", "x INT")
            db.insert("t", [(1,)])
        with viewlet.connect(folder) as again:
            assert again.table("t").rows() == [(1,)]
    assert (tmp_path / "volume" / "lost+found").is_dir()


@pytest.mark.parametrize("command", READING)
def test_reading_commands_make_no_warehouse(home: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (home / "empty").mkdir()
    for name in ("empty", "none", "hdfs://host/x"):
        assert main([*command, "--warehouse", name]) == 1
        assert capsys.readouterr().err.startswith("viewlet: error: ")
    assert os.listdir(home) == ["empty"]
    assert not os.listdir(home / "empty")
