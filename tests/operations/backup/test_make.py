from __future__ import annotations

import stat
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection

from executions.ledger import retention
from executions.models import PartitionLease
from operations.backup import archive, programs
from operations.backup.make import database_address, make_backup
from operations.backup.programs import ProgramFailed
from shared.exceptions import Conflict
from tenants.models import Tenant
from tests.executions.old_days import forget, half_detach, put
from tests.factories import make_task, make_tenant, once
from tests.operations.backup.files import PASSPHRASE, cheap
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)


@pytest.fixture
def alpha() -> Tenant:
    return make_tenant("Alpha")


@recounts("backup.rows")
def test_a_backup_says_what_is_in_it(alpha: Tenant, tmp_path: Path):
    make_task(alpha, once())
    make_task(alpha, once())

    made = make_backup(tmp_path / "a", PASSPHRASE)

    found = archive.read(tmp_path / "a", PASSPHRASE)
    assert found.manifest == made.manifest
    assert found.manifest.row_counts["tasks"] == 2
    assert found.manifest.row_counts["partition_leases"] == PartitionLease.objects.count()
    assert not [name for name in found.manifest.row_counts if name.startswith("executions_")]
    assert "0001_ledger" in found.manifest.migrations["executions"]
    assert found.manifest.server_major >= 18
    assert made.bytes == (tmp_path / "a").stat().st_size
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_everything_is_in_it_only_under_the_passphrase(tmp_path: Path):
    make_tenant("Readable name")
    make_backup(tmp_path / "a", PASSPHRASE)

    found = archive.read(tmp_path / "a", PASSPHRASE)
    content = (tmp_path / "a").read_bytes()
    for word in found.secrets["encryption_keys"].split():
        assert word.split(":", 1)[1].encode() not in content
    for text in ("PGDMP", "Readable name", "django_session", "tenants"):
        assert text.encode() not in content


def test_sessions_are_left_out_of_it(tmp_path: Path):
    session = SessionStore()
    session["_auth_user_id"] = "1"
    session.save()

    make_backup(tmp_path / "a", PASSPHRASE)

    found = archive.read(tmp_path / "a", PASSPHRASE)
    poured: list[bytes] = []
    found.pour(poured.append)
    listed = subprocess.run(
        [str(programs._folder() / "pg_restore"), "--data-only", "--file=-"],
        input=b"".join(poured),
        capture_output=True,
        check=True,
    ).stdout
    assert found.manifest.row_counts["django_session"] == 0
    assert b"COPY public.tenants" in listed
    assert str(session.session_key).encode() not in listed


def test_what_commits_while_it_is_made_is_wholly_out_of_it(
    alpha: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    make_task(alpha, once())
    dump = programs.dump

    def late(url: str, snapshot: str, left_out: Sequence[str]):
        make_task(alpha, once())
        return dump(url, snapshot, left_out)

    monkeypatch.setattr(programs, "dump", late)

    made = make_backup(tmp_path / "a", PASSPHRASE)

    assert made.manifest.row_counts["tasks"] == 1


@pytest.fixture
def half_detached(alpha: Tenant) -> Iterator[None]:
    """Let the executions of a day be on their way out of the ledger."""
    forget()
    put(alpha, 20)
    half_detach("executions", 20)
    yield
    forget()


def test_a_day_that_is_half_detached_is_counted_with_the_ledger(
    half_detached: None, alpha: Tenant, tmp_path: Path
):
    put(alpha, 21)

    made = make_backup(tmp_path / "a", PASSPHRASE)

    assert made.manifest.row_counts["executions"] == 2
    assert not [name for name in made.manifest.row_counts if name.startswith("executions_")]


def test_no_day_leaves_while_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    dump = programs.dump
    turns: list[object] = []

    def looking(url: str, snapshot: str, left_out: Sequence[str]):
        with retention.turn() as session:
            turns.append(session)
        return dump(url, snapshot, left_out)

    monkeypatch.setattr(programs, "dump", looking)

    make_backup(tmp_path / "a", PASSPHRASE)

    assert turns == [None]


def test_a_dump_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(url: str, snapshot: str, left_out: Sequence[str]):
        yield b"half"
        raise ProgramFailed("pg_dump failed: no space")

    monkeypatch.setattr(programs, "dump", broken)

    with pytest.raises(ProgramFailed):
        make_backup(tmp_path / "a", PASSPHRASE)

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_costs_no_dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a").write_bytes(b"former")
    monkeypatch.setattr(programs, "dump", None)

    with pytest.raises(Conflict):
        make_backup(tmp_path / "a", PASSPHRASE)

    assert (tmp_path / "a").read_bytes() == b"former"


def test_the_address_is_djangos(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "sslmode", "prefer")
    address = database_address()

    assert f"dbname={connection.settings_dict['NAME']}" in address
    assert "sslmode=prefer" in address
    assert "statement_timeout" not in address
