from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected, ForeignKeyViolation, LockNotAvailable, QueryCanceled

from events.models import AuditEntry
from executions.models import Erasure, Execution
from operations import tenant_erasure, tenant_removal
from operations.backup import erased_tenants
from operations.tenant_erasure import erase_tenant
from operations.tenant_removal import remove_tenant
from shared.data_keys import forget_all
from shared.encryption import DecryptionFailed, open_json
from shared.exceptions import Conflict, InvalidInput, NotFound, Unavailable
from shared.sealing_contexts import revision_context
from shared.sql import statement
from tasks.models import Task, TaskRevision
from tasks.revisions import read_definition
from tenants.models import DataKey, Tenant
from tests.access.stored_rows import rows_of
from tests.access.world import make_world
from tests.factories import ACTOR, make_execution, make_task, make_tenant, once
from tests.support.places import places_of
from tests.support.tables_of_tenants import STAYS, tables_with

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _push_key(settings: Any) -> None:
    """Let the world have a browser that takes pushes."""
    settings.VAPID_PRIVATE_KEY = "A" * 42 + "E"


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    """Keep the list of erased tenants in a directory of the test."""
    settings.DATA_DIR = tmp_path
    return tmp_path


def erase(tenant: Tenant) -> Erasure:
    return erase_tenant(tenant, reason="contract ended", actor=ACTOR)


def test_no_table_has_rows_of_an_erased_tenant_but_the_audit_log_and_the_certificate():
    world = make_world()
    tenant_id = world.tenant.id
    assert len(tables_with(tenant_id)) > 15

    erasure = erase(world.tenant)

    assert tables_with(tenant_id) <= STAYS
    assert not Tenant.objects.filter(pk=tenant_id).exists()
    assert (erasure.status, erasure.object_id) == ("COMPLETED", tenant_id)
    assert erasure.counts["tasks"] >= 1
    assert erasure.counts["executions"] >= 1
    assert erasure.audit_count == AuditEntry.objects.filter(tenant_id=tenant_id).count()


def test_another_tenant_keeps_every_row(alpha: Tenant, beta: Tenant):
    make_task(alpha)
    make_execution(beta, "SUCCEEDED")
    before = rows_of(beta)

    erase(alpha)

    assert rows_of(beta) == before


def test_an_interrupted_erasure_continues_under_the_same_certificate(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    make_execution(alpha, "SUCCEEDED")
    make_execution(alpha, "RUNNING")

    def dies(tenant: Tenant) -> None:
        Task.objects.filter(tenant_id=tenant.id).exists()
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(tenant_erasure, "remove_history", dies)
        with pytest.raises(ConnectionError):
            erase(alpha)
    begun = Erasure.objects.get()
    assert begun.status == "RUNNING"
    alpha.refresh_from_db()
    assert alpha.suspended_at is not None
    Execution.objects.filter(tenant_id=alpha.id, status="SUCCEEDED").delete()

    ended = erase(alpha)

    assert (ended.id, ended.status) == (begun.id, "COMPLETED")
    assert ended.counts["executions"] == 2
    assert Erasure.objects.count() == 1


def test_without_a_reason_nothing_happens(alpha: Tenant):
    with pytest.raises(InvalidInput):
        erase_tenant(alpha, reason=" ", actor=ACTOR)

    assert Tenant.objects.filter(pk=alpha.id, suspended_at=None).exists()


def test_two_sessions_do_not_erase_a_tenant_at_once(alpha: Tenant):
    other = connection.copy()
    try:
        with other.cursor() as session:
            session.execute(statement("erasure/take_turn"), {"tenant": alpha.id})
        with pytest.raises(Conflict) as refused:
            erase(alpha)
    finally:
        other.close()
    assert refused.value.code == "already_erasing"
    assert not Erasure.objects.exists()


def test_a_session_that_comes_after_the_end_begins_no_other_erasure(alpha: Tenant):
    known = Tenant.objects.get(pk=alpha.id)
    erase(alpha)

    with pytest.raises(NotFound):
        erase(known)

    assert [one.status for one in Erasure.objects.all()] == ["COMPLETED"]


def test_an_erased_tenants_keys_are_destroyed_and_what_an_archive_keeps_opens_no_more(
    alpha: Tenant, beta: Tenant, data_dir: Path
):
    task = make_task(alpha)
    archived = bytes(TaskRevision.objects.get(task=task).sealed)
    context = revision_context(alpha.id, task.id, 1)
    assert open_json(archived, context)["payload"] == {"report": 1}
    tenant_id = alpha.id

    erasure = erase(alpha)

    forget_all()
    with pytest.raises(DecryptionFailed):
        open_json(archived, context)
    assert DataKey.objects.filter(tenant_id=tenant_id).count() == 0
    assert DataKey.objects.filter(tenant=beta).count() == 1
    assert erasure.counts["data_keys"] == 1
    assert erased_tenants.read(data_dir / erased_tenants.FILE) == [tenant_id]


def test_urls_of_an_erased_tenant_open_no_more_where_a_backup_or_archive_keeps_them(alpha: Tenant):
    url = "https://api.example.com/canary-9f00?key=canary-9f00"
    task = make_task(alpha, once(target={"url": url}))
    kept = TaskRevision.objects.get(task=task)
    assert read_definition(task).target["url"] == url
    assert "canary-9f00" not in str(kept.definition)

    erase(alpha)

    forget_all()
    with pytest.raises(DecryptionFailed):
        open_json(bytes(kept.sealed), revision_context(task.tenant_id, task.id, 1))
    assert places_of("canary-9f00") == set()


def test_a_tenant_whose_keys_a_restore_has_destroyed_is_erased_again():
    world = make_world()
    tenant_id = world.tenant.id
    DataKey.objects.filter(tenant=world.tenant).delete()
    forget_all()

    erase(world.tenant)

    assert tables_with(tenant_id) <= STAYS


def test_keys_stay_where_the_list_of_erased_tenants_cannot_be_written(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    def full(directory: Path, tenant_id: object) -> None:
        raise OSError(28, "No space left on device", str(directory))

    with monkeypatch.context() as patched:
        patched.setattr(erased_tenants, "note", full)
        with pytest.raises(Unavailable, match="No space left on device"):
            erase(alpha)
    assert DataKey.objects.filter(tenant=alpha).exists()

    assert erase(alpha).status == "COMPLETED"


def crossing(times: int, error: type[Exception], cause: Exception) -> Any:
    """Return a removal that a call under way crosses so often."""
    left = iter(range(times))

    def remove(tenant: Tenant, **parts: Any) -> None:
        remove_tenant(tenant, **parts)
        if next(left, None) is not None:
            raise error("crossed") from cause

    return remove


@pytest.mark.parametrize(
    ("error", "cause"),
    [(IntegrityError, ForeignKeyViolation()), (OperationalError, DeadlockDetected())],
)
@pytest.mark.logs("erasure.crossed")
def test_a_call_that_crosses_the_last_step_is_waited_for(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, error: type[Exception], cause: Exception
):
    tenant_id = alpha.id
    monkeypatch.setattr(tenant_erasure, "remove_tenant", crossing(4, error, cause))

    assert erase(alpha).status == "COMPLETED"

    assert not Tenant.objects.filter(pk=tenant_id).exists()


@pytest.mark.parametrize(
    ("times", "cause"), [(5, DeadlockDetected()), (1, QueryCanceled())], ids=["often", "other"]
)
def test_the_last_step_ends_with_its_error_where_trying_again_does_not_help(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, times: int, cause: Exception
):
    monkeypatch.setattr(tenant_erasure, "remove_tenant", crossing(times, OperationalError, cause))

    with pytest.raises(OperationalError, match="crossed"):
        erase(alpha)

    assert Tenant.objects.filter(pk=alpha.id).exists()


@pytest.mark.django_db(transaction=True)
def test_a_call_under_way_stores_no_row_of_a_tenant_that_is_being_removed(
    monkeypatch: pytest.MonkeyPatch,
):
    tenant = make_tenant("Removed")
    other = connection.copy()

    #: What the check of a foreign key did at the commit of a new row, in each pass.
    stored: list[bool] = []

    def meanwhile(tenant_id: UUID) -> None:
        with other.cursor() as session:
            session.execute("SET lock_timeout = '1ms'")
            checks = "SELECT 1 FROM tenants WHERE id = %s FOR KEY SHARE"
            if stored:
                with pytest.raises(OperationalError) as waits:
                    session.execute(checks, [tenant_id])
                assert isinstance(waits.value.__cause__, LockNotAvailable)
            else:
                session.execute(checks, [tenant_id])
            stored.append(not stored)

    monkeypatch.setattr("workflows.removal.remove_of_tenant", meanwhile)
    try:
        with transaction.atomic():
            tenant_removal.remove_tenant(tenant, actor=ACTOR)
    finally:
        other.close()

    # What is stored during the first goes in the second.
    assert stored == [True, False]
