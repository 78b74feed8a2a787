from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from launcher import local_state
from launcher.embedded import place_servers
from operations.backup.make import database_address
from operations.backup.place import Place
from shared.exceptions import Conflict
from tests.support.servers import reachable_directory, remove


@pytest.fixture
def data_dir(tmp_path: Path):
    directory = reachable_directory(tmp_path / "data")
    yield directory
    remove(directory, place_servers(directory))


def fill(url: str, mark: str) -> None:
    with psycopg.connect(url) as session:
        session.execute("CREATE TABLE marks (mark text)")
        session.execute("INSERT INTO marks VALUES (%s)", (mark,))


def marks(url: str) -> list[str]:
    with psycopg.connect(url) as session:
        return [row[0] for row in session.execute("SELECT mark FROM marks")]


def test_an_empty_directory_gets_a_database(data_dir: Path):
    place = Place(data_dir)
    assert place.is_empty()

    with place.emptied() as url:
        fill(url, "restored")
        assert place.is_empty()

    assert not place.is_empty()
    assert (place_servers(data_dir).base / "postgres" / "PG_VERSION").exists()


def test_a_failed_restore_leaves_what_was_there(data_dir: Path):
    place = Place(data_dir)
    with place.emptied() as url:
        fill(url, "former")
    base = place_servers(data_dir).base
    before = sorted(path.name for path in (base / "postgres").iterdir())

    with pytest.raises(psycopg.errors.UndefinedTable), place.emptied() as url:
        marks(url)

    assert sorted(path.name for path in (base / "postgres").iterdir()) == before
    assert not (base / "postgres.replaced").exists()


def test_the_former_database_stays_beside(data_dir: Path):
    place = Place(data_dir)
    for mark in ("former", "restored"):
        with place.emptied() as url:
            fill(url, mark)

    base = place_servers(data_dir).base
    assert (base / "postgres.replaced" / "PG_VERSION").exists()
    (base / "postgres").rename(base / "postgres.restored.kept")
    (base / "postgres.replaced").rename(base / "postgres")
    assert not place.is_empty()


def test_the_backups_secrets_replace_the_former_and_server_passwords_stay(tmp_path: Path):
    former = local_state.ensure_secrets(tmp_path)

    Place(tmp_path).put_secrets(
        {"secret_key": "s", "encryption_keys": "k9:x", "vapid_private_key": ""}, former
    )

    found = local_state.load_secrets(tmp_path)
    assert (found["secret_key"], found["encryption_keys"]) == ("s", "k9:x")
    assert found["postgres_password"] == former["postgres_password"]
    assert found["vapid_private_key"] == former["vapid_private_key"]
    kept = (tmp_path / "secrets.json.replaced").read_text()
    assert former["secret_key"] in kept


def test_an_empty_directory_has_no_former_secrets(tmp_path: Path):
    Place(tmp_path).put_secrets({"secret_key": "s", "encryption_keys": "k9:x"}, {})

    assert sorted(path.name for path in tmp_path.iterdir()) == ["secrets.json"]
    assert local_state.load_secrets(tmp_path)["valkey_password"]


@pytest.mark.django_db(transaction=True)
def test_a_given_server_with_tables_is_not_empty(tmp_path: Path):
    assert not Place(tmp_path, database_address()).is_empty()


@pytest.mark.django_db(transaction=True)
def test_a_given_server_that_processes_use_is_refused(tmp_path: Path):
    url = database_address()
    worker = "punctual-scheduler"
    with psycopg.connect(url, application_name=worker), pytest.raises(Conflict, match=worker):
        Place(tmp_path, url).refuse_running()


@pytest.mark.django_db(transaction=True)
def test_a_given_server_is_emptied(tmp_path: Path):
    with psycopg.connect(database_address(), autocommit=True) as session:
        session.execute("CREATE DATABASE place_target")
    url = f"{database_address()} dbname=place_target"
    try:
        place = Place(tmp_path, url)
        with place.emptied():
            fill(url, "restored")
        assert marks(url) == ["restored"]
        assert not place.is_empty()
        with place.emptied():
            assert place.is_empty()
    finally:
        with psycopg.connect(database_address(), autocommit=True) as session:
            session.execute("DROP DATABASE place_target WITH (FORCE)")
