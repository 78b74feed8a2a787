"""A tenant's new data key: its values are sealed anew, in passes that go on where one was ended."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from events.models import AuditEntry
from executions.models import Execution
from executions.payloads import payload_of, response_of, result_of
from executions.resealing import passes, sealing_anew
from executions.resealing.columns import COLUMNS
from executions.resealing.passes import rotate, run_some, wake_waiting
from executions.resealing.sealing_anew import all_counts, count_left
from shared.data_keys import forget_all
from shared.encryption import DecryptionFailed, key_id_of, seal
from shared.exceptions import Conflict, NotFound
from shared.ids import new_id
from shared.sealing_contexts import revision_context
from tasks.models import TaskRevision
from tasks.revisions import open_payload
from tenants.models import DataKey, Resealing, Tenant
from tenants.services.data_keys import reseal_tenant
from tests.executions.resealing.stored import attempt_of, failed_execution, open_execution, open_run
from tests.factories import ACTOR, make_task, make_tenant
from tests.support.loops import as_owner
from tests.support.recounting import recounts
from workflows.plan import plan_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read two values at once."""
    monkeypatch.setattr(sealing_anew, "_AT_ONCE", 2)


def keys_of(tenant: Tenant) -> list[str]:
    rows = DataKey.objects.filter(tenant=tenant).order_by("generation")
    return [str(key.id) for key in rows]


def rotated(tenant: Tenant) -> Resealing:
    made = rotate(tenant.id, actor=ACTOR)
    forget_all()
    plan_of.cache_clear()
    return made


def done(resealing: Resealing) -> Resealing:
    while run_some(resealing.id):
        pass
    resealing.refresh_from_db()
    return resealing


def test_a_new_tenant_has_a_key_of_its_own_that_seals_what_it_stores(alpha: Tenant, beta: Tenant):
    for tenant in (alpha, beta):
        make_task(tenant)

    counts = all_counts()

    assert len({*keys_of(alpha), *keys_of(beta)}) == 2
    assert set(counts) == {*keys_of(alpha), *keys_of(beta)}


@recounts("resealing.progress")
def test_a_rotation_seals_every_value_of_the_tenant_anew_and_no_other(alpha: Tenant, beta: Tenant):
    ended, running = failed_execution(alpha), open_execution(alpha)
    task = make_task(alpha)
    open_run(alpha)
    make_task(beta)
    before = (
        payload_of(ended),
        result_of(running),
        response_of(attempt_of(ended)),
        open_payload(task.id, 1),
    )
    counts = all_counts()

    made = done(rotated(alpha))

    old, new = keys_of(alpha)
    after = all_counts()
    assert (made.status, made.left, made.unreadable) == ("COMPLETED", 0, 0)
    assert made.sealed == counts[old]
    assert old not in after
    assert after == {new: counts[old], keys_of(beta)[0]: counts[keys_of(beta)[0]]}
    DataKey.objects.filter(pk=old).delete()
    forget_all()
    ended, running = (Execution.objects.get(pk=one.pk) for one in (ended, running))
    assert before == (
        payload_of(ended),
        result_of(running),
        response_of(attempt_of(ended)),
        open_payload(task.id, 1),
    )


@pytest.mark.usefixtures("two")
def test_a_pass_that_was_ended_twice_goes_on_where_it_was(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(9):
        make_task(alpha)
    made = rotated(alpha)
    reads: list[Any] = []
    find = sealing_anew._find

    def noting(column: Any, headers: Any, tenant: Any, place: Any) -> Any:
        found = find(column, headers, tenant, place)
        if column.table == "task_revisions":
            reads.extend(row[0] for row in found)
        return found

    monkeypatch.setattr(sealing_anew, "_find", noting)

    def killed(row: Resealing) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run_some(made.id, progress=killed)
    made.refresh_from_db()
    assert (made.sealed, made.place["column"]) == (4, "task_revisions.sealed")

    done(made)

    assert (made.status, made.left) == ("COMPLETED", 0)
    assert len(reads) == len(set(reads)) == 9


def test_a_part_of_a_pass_lets_other_jobs_have_a_turn(alpha: Tenant):
    make_task(alpha)
    made = rotated(alpha)

    assert run_some(made.id, seconds=-1.0)

    made.refresh_from_db()
    assert made.status == "RUNNING"


def test_a_lost_message_is_replaced(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    sent: list[str] = []
    monkeypatch.setattr(passes, "publish_system_job", lambda job, one: sent.append(one))
    made = rotated(alpha)
    assert wake_waiting() == 0
    Resealing.objects.update(woken_at="2020-01-01T00:00:00Z")

    assert wake_waiting() == 1
    assert sent == [str(made.id)]


def test_a_second_rotation_is_refused_while_values_are_sealed_anew(alpha: Tenant):
    rotated(alpha)

    with pytest.raises(Conflict) as refused:
        rotate(alpha.id, actor=ACTOR)

    assert refused.value.code == "resealing"
    assert len(keys_of(alpha)) == 2


def test_a_rotation_of_an_unknown_tenant_is_not_found(db: None):
    for act in (rotate, reseal_tenant):
        with pytest.raises(NotFound):
            act(new_id(), actor=ACTOR)


def test_a_rotation_and_its_end_are_in_the_audit_log_without_a_key(alpha: Tenant):
    secret = bytes(DataKey.objects.get(tenant=alpha).wrapped).hex()
    done(rotated(alpha))

    entries = AuditEntry.objects.filter(tenant_id=alpha.id, action__startswith="data_key.")
    assert sorted(one.action for one in entries) == ["data_key.resealed", "data_key.rotated"]
    assert not any(secret in f"{one.before}{one.after}" for one in entries)


def test_a_value_that_changed_meanwhile_is_not_overwritten(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    task = make_task(alpha)
    made = rotated(alpha)
    newer = seal(b'{"payload": 2}', revision_context(alpha.id, task.id, 1))

    def meanwhile(plaintext: bytes, context: Any) -> bytes:
        TaskRevision.objects.filter(task=task).update(sealed=newer)
        return seal(plaintext, context)

    monkeypatch.setattr(sealing_anew, "seal", meanwhile)

    done(made)

    assert bytes(TaskRevision.objects.get(task=task).sealed) == newer


def test_what_was_sealed_under_the_old_key_meanwhile_is_counted_and_sealed_by_a_repeat(
    alpha: Tenant,
):
    task = make_task(alpha)
    late = bytes(TaskRevision.objects.get(task=task).sealed)
    done(rotated(alpha))
    TaskRevision.objects.filter(task=task).update(sealed=late)
    assert count_left(COLUMNS[0], alpha.id) == 1

    again = done(reseal_tenant(alpha.id, actor=ACTOR))

    assert (again.sealed, again.left) == (1, 0)


def test_values_of_a_tenant_from_before_data_keys_get_its_first_one(tenant: Tenant):
    task = make_task(tenant)
    assert set(all_counts()) == {"old"}

    made = done(reseal_tenant(tenant.id, actor=ACTOR))

    [key] = keys_of(tenant)
    assert (made.left, set(all_counts())) == (0, {key})
    assert open_payload(task.id, 1) == {"report": 1}


def test_a_row_that_was_given_to_another_tenant_does_not_open(alpha: Tenant, beta: Tenant):
    task = make_task(alpha)
    type(task).objects.filter(pk=task.pk).update(tenant=beta)

    with pytest.raises(DecryptionFailed):
        open_payload(task.id, 1)


def test_values_that_two_tenants_rows_have_exchanged_do_not_open():
    first, second = (make_task(make_tenant(name)) for name in ("Gamma", "Delta"))
    sealed = [bytes(TaskRevision.objects.get(task=one).sealed) for one in (first, second)]
    TaskRevision.objects.filter(task=first).update(sealed=sealed[1])
    TaskRevision.objects.filter(task=second).update(sealed=sealed[0])

    for one in (first, second):
        with pytest.raises(DecryptionFailed):
            open_payload(one.id, 1)
    assert key_id_of(sealed[0]) != key_id_of(sealed[1])


def test_a_value_of_a_tenant_whose_keys_are_destroyed_meanwhile_does_not_get_the_deployments_key(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    task = make_task(alpha)
    before = bytes(TaskRevision.objects.get(task=task).sealed)
    made = rotated(alpha)

    def meanwhile(plaintext: bytes, context: Any) -> bytes:
        # An erasure, by another session.
        with as_owner():
            DataKey.objects.filter(tenant=alpha).delete()
        forget_all()
        return seal(plaintext, context)

    monkeypatch.setattr(sealing_anew, "seal", meanwhile)

    done(made)

    assert bytes(TaskRevision.objects.get(task=task).sealed) == before


def test_a_session_that_has_lost_its_turn_does_not_skip_a_column(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    make_task(alpha)
    made = rotated(alpha)
    passed: list[int] = []

    def other_goes_on(row: Resealing) -> None:
        if not passed:
            passed.append(Resealing.objects.filter(pk=row.pk).update(columns_done=1, place={}))

    assert run_some(made.id, progress=other_goes_on) is False
    made.refresh_from_db()

    assert (made.columns_done, made.ended_at) == (1, None)


@pytest.mark.logs("resealing.not_handed_on", reason="away")
def test_a_resealing_waits_for_a_broker_that_is_away(monkeypatch: pytest.MonkeyPatch):
    def refuse(*job: str) -> None:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(passes, "publish_system_job", refuse)

    passes.hand_on(new_id())
