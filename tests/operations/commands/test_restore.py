from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from executions.ownership import fence
from executions.ownership.partitions import Partitions
from launcher.run_lock import RunLock
from operations.management.commands import restore as command
from shared.commands import CONFLICT, FAILED, UNREACHABLE, WRONG_USE
from tests.factories import make_tenant
from tests.operations.backup.files import PASSPHRASE, cheap, write
from tests.support.closed_redis import closed_redis
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document
from wire import start_guard

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty data directory; the passphrase is in the environment."""
    cheap(monkeypatch)
    monkeypatch.setenv("BACKUP_PASSPHRASE", PASSPHRASE)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "b"))
    for name in ("DATABASE_URL", "ENCRYPTION_KEYS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "b"


@pytest.fixture
def fenced(db: None) -> None:
    make_tenant("Alpha")
    with connection.cursor() as cursor:
        fence.hold(cursor)


def test_a_restore_says_what_it_restored_and_what_is_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    done: list[bool] = []
    monkeypatch.setattr(
        command, "restore", lambda checked, place, overwrite, erased: done.append(overwrite)
    )

    said = call("restore", "--from", str(write(tmp_path / "a")), "--json")
    shown = call("restore", "--from", str(tmp_path / "a"), "--overwrite", "--yes")

    document = read_document("restore", said.out)
    assert (document["done"], document["rows"], document["fenced"]) == ("restore", 2, True)
    assert "--confirm" in said.err
    assert "Nothing runs" in shown.out
    assert done == [False, True]


def test_a_wrong_passphrase_touches_nothing(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
):
    path = write(tmp_path / "a")
    monkeypatch.setenv("BACKUP_PASSPHRASE", "another passphrase")

    said = call("restore", "--from", str(path))

    assert said.code == CONFLICT
    assert "passphrase" in said.err
    assert not here.exists()


@pytest.mark.parametrize("kept", [0, 3000, 11_000])
def test_a_damaged_file_touches_nothing(tmp_path: Path, here: Path, kept: int):
    path = write(tmp_path / "a")
    path.write_bytes(path.read_bytes()[:kept])

    said = call("restore", "--from", str(path))

    assert said.code == CONFLICT
    assert not here.exists()


def test_a_newer_backup_touches_nothing(tmp_path: Path, here: Path):
    path = write(tmp_path / "a", migrations={"executions": ["9999_future"]})

    said = call("restore", "--from", str(path))

    assert (said.code, "newer version" in said.err) == (CONFLICT, True)
    assert not here.exists()


def test_a_running_installation_is_left_alone(tmp_path: Path, here: Path):
    path = write(tmp_path / "a")
    with RunLock(here):
        said = call("restore", "--from", str(path), "--overwrite", "--yes")

    assert said.code == CONFLICT
    assert "runs here" in said.err


def test_a_directory_with_a_database_is_left_alone(tmp_path: Path, here: Path):
    (here / "postgres").mkdir(parents=True)
    path = write(tmp_path / "a")

    refused = call("restore", "--from", str(path))
    unsure = call("restore", "--from", str(path), "--overwrite")

    assert (refused.code, unsure.code) == (CONFLICT, WRONG_USE)
    assert "--overwrite --yes" in refused.err
    assert list((here / "postgres").iterdir()) == []


def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    said = call("restore", "--from", str(tmp_path / "none"))

    assert said.code == FAILED
    assert "No such file" in said.err


def test_a_server_that_is_away_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def away(*arguments: object, **options: object) -> None:
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(command, "restore", away)

    assert call("restore", "--from", str(write(tmp_path / "a"))).code == UNREACHABLE


def test_the_fence_alone_is_set_by_a_yes():
    partitions = Partitions()
    partitions.run_once()
    before = start_guard.current_incarnation()

    said = call("restore", "--fence", "--yes", "--json")

    document = read_document("restore", said.out)
    assert (document["done"], document["partitions"]) == ("fence", 256)
    assert fence.holds()
    assert start_guard.current_incarnation() != before
    partitions.run_once()
    assert partitions.held == {}


def test_without_a_yes_no_fence_is_set(monkeypatch: pytest.MonkeyPatch):
    type_in(monkeypatch, "n\n")

    assert call("restore", "--fence").code == FAILED
    assert not fence.holds()


def test_where_no_redis_is_known_the_fence_is_set_all_the_same(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(settings, "REDIS_URL", "")
    monkeypatch.setattr(start_guard, "renew_incarnation", None)

    assert call("restore", "--fence", "--yes").code == 0
    assert fence.holds()


@pytest.mark.usefixtures("fenced")
def test_the_confirmation_shows_what_would_run_before_it_asks(monkeypatch: pytest.MonkeyPatch):
    type_in(monkeypatch, "n\n")

    said = call("restore", "--confirm")

    assert said.code == FAILED
    assert "misfire policy" in said.out
    assert "at least once" in said.out
    assert fence.holds()


@pytest.mark.usefixtures("fenced")
def test_a_yes_lifts_the_fence_once():
    said = call("restore", "--confirm", "--yes", "--json")
    again = call("restore", "--confirm", "--yes")

    document = read_document("restore", said.out)
    assert (document["done"], document["fenced"], document["taken_back"]) == ("confirm", False, 0)
    assert not fence.holds()
    assert again.code == CONFLICT


@pytest.mark.usefixtures("fenced")
def test_without_redis_a_confirmation_of_an_idle_installation_needs_none(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(start_guard, "client", closed_redis)

    assert call("restore", "--confirm", "--yes").code == 0


@pytest.mark.parametrize("words", [(), ("--fence", "--confirm")])
def test_it_does_one_thing_at_a_time(words: tuple[str, ...]):
    assert call("restore", *words).code != 0
