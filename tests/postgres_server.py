"""A PostgreSQL server of the tests' own, started when the first test asks for it and gone with the last."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

ROOT = Path(__file__).parent.parent
SETTINGS = {
    "listen_addresses": "''",
    "wal_level": "logical",
    "max_replication_slots": "100",
    "max_wal_senders": "100",
    "fsync": "off",
    "shared_buffers": "16MB",
    "autovacuum": "off",
}


def _programs() -> Path:
    found = subprocess.run(["bash", ROOT / "tools" / "need-postgres"], stdout=subprocess.PIPE, text=True, check=True)
    return Path(found.stdout.strip())


def _as_server() -> list[str]:
    """PostgreSQL refuses to run as root: it runs as nobody then."""
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []


@contextmanager
def server() -> Iterator[str]:
    """A running server; how to connect to its database."""
    programs, folder = _programs(), Path(tempfile.mkdtemp(prefix="viewlet-pg-"))
    data = folder / "data"
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "nobody", "nogroup")
        command: list[str | Path] = [
            *_as_server(),
            programs / "initdb",
            "-D",
            data,
            "-U",
            "tests",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value.strip(chr(39))}")]
        run: list[str | Path] = [*_as_server(), programs / "postgres", "-D", data, "-k", folder, *options]
        with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder) as process:
            try:
                database = f"host={folder} user=tests dbname=postgres"
                _wait(process, database)
                yield database
            finally:
                process.send_signal(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[bytes], database: str) -> None:
    for _ in range(600):
        assert process.poll() is None, "PostgreSQL ended by itself"
        try:
            psycopg.connect(database).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("PostgreSQL did not start")


@contextmanager
def new_database(database: str) -> Iterator[str]:
    """An empty database of a server, gone in the end with the slots that are left in it."""
    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(database, autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name}".encode())
        try:
            yield database.replace("dbname=postgres", f"dbname={name}")
        finally:
            slots = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s"
            session.execute(slots, (name,))
            session.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
