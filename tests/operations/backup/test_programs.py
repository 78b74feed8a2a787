from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from operations.backup import programs
from operations.backup.make import database_address
from operations.backup.programs import ProgramFailed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def snapshot():
    with psycopg.connect(database_address()) as session:
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        yield session.execute("SELECT pg_export_snapshot()").fetchall()[0][0]


def test_a_dump_is_made_of_a_snapshot(snapshot: str):
    assert b"".join(programs.dump(database_address(), snapshot)).startswith(b"PGDMP")


def test_a_snapshot_that_is_gone_is_told():
    with pytest.raises(ProgramFailed, match="snapshot"):
        list(programs.dump(database_address(), "00000000-00000000-1"))


def test_bytes_that_are_no_dump_are_told():
    def pour(into: Callable[[bytes], object]) -> None:
        into(b"no dump" * 100_000)

    with pytest.raises(ProgramFailed, match="pg_restore"):
        programs.restore(database_address(), pour)


def test_the_password_is_not_among_the_arguments(snapshot: str, monkeypatch: pytest.MonkeyPatch):
    started: list[Any] = []
    popen = subprocess.Popen

    def noting(argv: list[str], **options: Any) -> Any:
        started.append((argv, options["env"]))
        return popen(argv, **options)

    monkeypatch.setattr(subprocess, "Popen", noting)

    list(programs.dump(database_address(), snapshot))

    [(argv, environment)] = started
    password = environment["PGPASSWORD"]
    assert password
    assert not [word for word in argv if password in word]
