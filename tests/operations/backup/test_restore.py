from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.contrib.sessions.backends.db import SessionStore

from executions.ownership import fence
from launcher import local_state
from launcher.run_lock import RunLock
from operations.backup import erased_tenants, keys, programs
from operations.backup.archive import SealedBackup
from operations.backup.exceptions import Damaged, Unfit, WrongPassphrase
from operations.backup.make import count_rows, database_address, make_backup
from operations.backup.place import Place
from operations.backup.restore import Checked, Incomplete, check, restore
from shared.data_keys import forget_all
from shared.encryption import DecryptionFailed, open_json
from shared.exceptions import Conflict
from shared.ids import new_id
from shared.sealing_contexts import revision_context
from tenants.models import DataKey, Tenant
from tests.executions.old_days import forget, half_detach, put
from tests.factories import ACTOR, make_task, make_tenant, once
from tests.operations.backup.files import PASSPHRASE, cheap, write, write_first_format
from tests.support.tables_of_runs import tables_with_rows
from tests.support.workflow_steps import claim, end, run_step
from tests.support.workflows import begin_run, calls, make_workflow
from wire import start_guard
from workflows.signals import send_signal

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap(monkeypatch)
    monkeypatch.delenv("ENCRYPTION_KEYS", raising=False)


@pytest.fixture
def target() -> Iterator[str]:
    """Return the address of an empty database on the tests' server."""
    with psycopg.connect(database_address(), autocommit=True) as session:
        session.execute("CREATE DATABASE restore_target")
    yield f"{database_address()} dbname=restore_target"
    with psycopg.connect(database_address(), autocommit=True) as session:
        session.execute("DROP DATABASE restore_target WITH (FORCE)")


@pytest.fixture
def _no_old_days(transactional_db: None) -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    """Return a backup of the tests' database with one task."""
    make_task(make_tenant("Alpha"), once())
    make_backup(tmp_path / "a", PASSPHRASE)
    return check(tmp_path / "a", PASSPHRASE)


def value(url: str, question: str) -> Any:
    with psycopg.connect(url) as session:
        return session.execute(question).fetchall()[0][0]


def test_the_restored_database_has_every_row_and_is_fenced(
    checked: Checked, target: str, tmp_path: Path
):
    before = start_guard.current_incarnation()

    restore(checked, Place(tmp_path / "b", target), overwrite=False)

    assert value(target, "SELECT count(*) FROM tasks") == 1
    assert (
        value(target, f"SELECT count(*) FROM partition_leases WHERE owner <> '{fence.OWNER}'") == 0
    )
    token = value(target, "SELECT last_value FROM execution_token_seq")
    assert token > checked.manifest.last_token + 2**39
    assert local_state.load_secrets(tmp_path / "b")["encryption_keys"]
    assert start_guard.current_incarnation() != before


def test_open_runs_of_workflows_come_back_with_all_that_they_have(target: str, tmp_path: Path):
    # Fault 28 of the design.
    flow = [
        calls("a"),
        calls("load", for_each=[1, 2, 3], max_parallel=2),
        {"key": "ask", "kind": "approval", "timeout_seconds": 600},
        calls("b", "a"),
    ]
    alpha = make_tenant("Alpha")
    run_id = begin_run(make_workflow(alpha, flow))
    run_step(run_id, "a")
    send_signal(alpha.id, "paid", "", None, actor=ACTOR)
    end(claim(run_id)["b"])
    tables = set(tables_with_rows())
    assert {"workflow_runs", "workflow_steps", "workflow_fans", "workflow_waits"} <= tables
    asked = [f"SELECT json_agg(t ORDER BY t::text) FROM {table} t" for table in sorted(tables)]
    make_backup(tmp_path / "a", PASSPHRASE)

    restore(check(tmp_path / "a", PASSPHRASE), Place(tmp_path / "b", target), overwrite=False)

    assert [value(target, one) for one in asked] == [
        value(database_address(), one) for one in asked
    ]


@pytest.mark.usefixtures("_no_old_days")
def test_a_day_that_was_half_detached_is_in_the_ledger_again(target: str, tmp_path: Path):
    put(make_tenant("Alpha"), 20)
    half_detach("executions", 20)
    make_backup(tmp_path / "a", PASSPHRASE)

    restore(check(tmp_path / "a", PASSPHRASE), Place(tmp_path / "b", target), overwrite=False)

    assert value(target, "SELECT count(*) FROM executions") == 1
    assert value(target, "SELECT count(*) FROM pg_inherits WHERE inhdetachpending") == 0


def test_an_installation_that_runs_is_refused(checked: Checked, target: str, tmp_path: Path):
    with RunLock(tmp_path / "b"), pytest.raises(Conflict) as refused:
        restore(checked, Place(tmp_path / "b", target), overwrite=True)

    assert refused.value.code == "running"
    assert value(target, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


def test_a_target_with_data_is_refused_unless_it_is_to_be_replaced(
    checked: Checked, target: str, tmp_path: Path
):
    place = Place(tmp_path / "b", target)
    with psycopg.connect(target) as session:
        session.execute("CREATE TABLE precious (id int)")

    with pytest.raises(Conflict) as refused:
        restore(checked, place, overwrite=False)

    assert refused.value.code == "not_empty"
    assert value(target, "SELECT count(*) FROM precious") == 0
    restore(checked, place, overwrite=True)
    assert value(target, "SELECT to_regclass('precious') IS NULL")


def test_rows_that_are_missing_are_told(checked: Checked, target: str, tmp_path: Path):
    counts = {**checked.manifest.row_counts, "tasks": 2}
    assert isinstance(checked.backup, SealedBackup)
    backup = replace(checked.backup, manifest=replace(checked.manifest, row_counts=counts))

    with pytest.raises(Incomplete, match="tasks"):
        restore(Checked(backup), Place(tmp_path / "b", target), overwrite=False)

    assert local_state.load_secrets(tmp_path / "b") == {}


def test_a_wrong_passphrase_is_found_before_anything_is_touched(tmp_path: Path):
    with pytest.raises(WrongPassphrase):
        check(write(tmp_path / "a"), "another passphrase")


def test_a_damaged_file_is_found_before_anything_is_touched(tmp_path: Path):
    path = write(tmp_path / "a")
    path.write_bytes(path.read_bytes()[:-2000])

    with pytest.raises(Damaged):
        check(path, PASSPHRASE)


@pytest.mark.parametrize("written", [write, write_first_format])
def test_a_newer_version_is_found_before_anything_is_touched(tmp_path: Path, written: Any):
    path = written(tmp_path / "a", migrations={"executions": ["9999_future"]})

    with pytest.raises(Unfit, match="newer version"):
        check(path, PASSPHRASE)


@pytest.fixture
def first_format(tmp_path: Path) -> Path:
    """Return a backup of the tests' database as a release before wrote it, sessions included."""
    make_task(make_tenant("Alpha"), once())
    User.objects.create_user("member")
    session = SessionStore()
    session["_auth_user_id"] = "1"
    session.save()
    with psycopg.connect(database_address()) as held:
        held.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        [[snapshot]] = held.execute("SELECT pg_export_snapshot()").fetchall()
        dump = b"".join(programs.dump(database_address(), snapshot))
        counts = count_rows(held)
    return write_first_format(tmp_path / "a", dump, keys.current(), row_counts=counts)


def test_a_backup_of_the_first_format_is_restored_without_its_sessions(
    first_format: Path, target: str, tmp_path: Path
):
    checked = check(first_format, PASSPHRASE)
    assert checked.manifest.row_counts["django_session"] == 1

    restore(checked, Place(tmp_path / "b", target), overwrite=False)

    assert value(target, "SELECT count(*) FROM tasks") == 1
    assert value(target, "SELECT count(*) FROM django_session") == 0


def test_a_login_link_from_before_the_restore_opens_nothing(
    first_format: Path, target: str, tmp_path: Path
):
    member = User.objects.get(username="member")
    token = default_token_generator.make_token(member)

    restore(check(first_format, PASSPHRASE), Place(tmp_path / "b", target), overwrite=False)

    assert default_token_generator.check_token(member, token)
    member.last_login = value(target, "SELECT last_login FROM auth_user WHERE username = 'member'")
    assert not default_token_generator.check_token(member, token)


def test_keys_that_the_environment_lacks_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ENCRYPTION_KEYS", "here")

    with pytest.raises(Unfit, match="k1"):
        check(write(tmp_path / "a"), PASSPHRASE)


def test_without_a_redis_of_ones_own_nothing_is_asked(
    checked: Checked, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(settings, "REDIS_URL", "")
    monkeypatch.setattr(start_guard, "renew_incarnation", None)

    restore(checked, Place(tmp_path / "b", target), overwrite=False)


def test_a_backup_from_before_an_erasure_has_nothing_readable_of_the_tenant(
    target: str, tmp_path: Path
):
    kept, gone = make_tenant("Alpha"), make_tenant("Gone")
    for tenant in (kept, gone):
        make_task(tenant, once(payload={"of": tenant.name}))
    make_backup(tmp_path / "a", PASSPHRASE)
    data_dir = tmp_path / "b"
    erased_tenants.note(data_dir, gone.id)

    closed = restore(check(tmp_path / "a", PASSPHRASE), Place(data_dir, target), overwrite=False)

    assert closed == 1
    with psycopg.connect(target) as session:
        found = session.execute("SELECT tenant_id FROM data_keys").fetchall()
        rows = session.execute(
            "SELECT t.tenant_id, r.task_id, r.version, r.sealed FROM task_revisions r "
            "JOIN tasks t ON t.id = r.task_id"
        ).fetchall()
    assert found == [(kept.id,)]
    # What opens is judged by the keys of the restored database.
    DataKey.objects.filter(tenant=gone).delete()
    forget_all()
    opened = {}
    for tenant_id, task_id, version, sealed in rows:
        context = revision_context(tenant_id, task_id, version)
        try:
            opened[tenant_id] = open_json(sealed, context)["payload"]
        except DecryptionFailed:
            opened[tenant_id] = None
    assert opened == {kept.id: {"of": "Alpha"}, gone.id: None}


def test_a_list_of_another_machine_is_minded_and_an_unknown_tenant_does_no_harm(
    checked: Checked, target: str, tmp_path: Path
):
    tenant, data_dir = Tenant.objects.get(name="Alpha"), tmp_path / "b"
    erased = [tenant.id, new_id()]

    closed = restore(checked, Place(data_dir, target), overwrite=False, erased=erased)

    assert closed == 1
    # A second restore here minds them as well, without the list of the other machine.
    assert erased_tenants.read(data_dir / erased_tenants.FILE) == sorted(erased)
    assert value(target, "SELECT count(*) FROM data_keys") == 0
