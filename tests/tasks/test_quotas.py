from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, transaction

from events.models import Event
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.conf import conf
from shared.exceptions import QuotaExceeded
from shared.ids import new_id
from shared.redis_client import client
from tasks import quotas
from tasks.calendars import limits_of as body_limits
from tasks.creation import create_tasks
from tasks.models import Task, TaskRevision
from tasks.standing_pauses import share_active
from tasks.validation.bodies import parse_create
from tenants.models import Tenant
from tenants.quotas import counters, known
from tenants.quotas.limits import NONE
from tenants.services import change_quotas, change_tenant
from tests.factories import ACTOR, daily, finish, make_task, once, prepare, release, start
from tests.support.closed_redis import closed_redis
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db(transaction=True)


def limit(tenant: Tenant, **limits: int | None) -> None:
    change_quotas(tenant.id, actor=ACTOR, limits=limits)


def create(tenant: Tenant, count: int) -> list[Task]:
    now = database_now()
    definition = parse_create(daily(), now=now, limits=body_limits(tenant.id))
    return create_tasks(tenant.id, [definition] * count, actor=ACTOR, now=now)


def stored(tenant: Tenant) -> int:
    return Task.objects.for_tenant(tenant.id).count()


def test_a_tenant_without_quotas_costs_neither_a_statement_nor_a_question(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
):
    asked: list[object] = []
    monkeypatch.setattr(counters, "client", lambda: asked.append(1))
    create(alpha, 1)  # this process knows the tenant now

    with django_assert_num_queries(0):
        quotas.spend(alpha.id, 1)
        quotas.reserve(alpha.id, tasks=1, payload_bytes=100)

    assert not asked


def test_an_execution_asks_for_no_quota_even_where_its_tenant_has_limits(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    limit(alpha, stored_tasks=3, stored_payload_bytes=10_000, creations_per_second=100)
    task = make_task(alpha, once())
    asked: list[object] = []
    monkeypatch.setattr(counters, "_eval", lambda *question: asked.append(question))
    monkeypatch.setattr(known, "limits_of", lambda tenant: asked.append(tenant))

    prepare()
    [released] = release()
    start([released])
    finish(released)

    assert Execution.objects.get(task_id=task.id).status == "SUCCEEDED"
    assert not asked


def test_the_limit_of_stored_tasks_holds_to_the_last_place(alpha: Tenant):
    limit(alpha, stored_tasks=3)
    create(alpha, 2)

    with pytest.raises(QuotaExceeded) as refused:
        create(alpha, 2)
    create(alpha, 1)
    with pytest.raises(QuotaExceeded):
        create(alpha, 1)

    assert refused.value.facts == {"quota": "stored_tasks", "limit": 3, "used": 2}
    assert refused.value.retry_after == 60
    assert "may have 3 stored tasks and has 2" in refused.value.message
    assert stored(alpha) == 3


def test_tasks_that_were_there_before_the_limit_count(alpha: Tenant):
    create(alpha, 3)

    limit(alpha, stored_tasks=3)

    with pytest.raises(QuotaExceeded):
        create(alpha, 1)


def test_a_refusal_counts_in_the_database_first(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quotas, "_APART_SECONDS", 0.0)
    limit(alpha, stored_tasks=2)
    task, _ = create(alpha, 2)

    Task.objects.filter(pk=task.pk).update(deleted_at=database_now())

    assert len(create(alpha, 1)) == 1


def test_a_tenant_at_its_limit_does_not_make_the_database_count_at_each_call(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    limit(alpha, stored_tasks=0)
    counts: list[object] = []
    count = quotas._stored

    def counted(tenant: Any) -> Any:
        counts.append(tenant)
        return count(tenant)

    monkeypatch.setattr(quotas, "_stored", counted)

    for _ in range(5):
        with pytest.raises(QuotaExceeded):
            create(alpha, 1)

    assert len(counts) == 1


def test_a_transaction_that_creates_twice_counts_its_own_rows_once(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(quotas, "_APART_SECONDS", 0.0)
    limit(alpha, stored_tasks=4)

    with transaction.atomic():
        create(alpha, 3)
        with pytest.raises(QuotaExceeded), transaction.atomic():
            create(alpha, 2)
        create(alpha, 1)

    assert stored(alpha) == 4


def test_a_rolled_back_creation_leaves_its_place(alpha: Tenant):
    limit(alpha, stored_tasks=1)

    with transaction.atomic():
        create(alpha, 1)
        transaction.set_rollback(True)

    assert len(create(alpha, 1)) == 1


def test_payloads_count_with_all_their_versions(alpha: Tenant):
    task = make_task(alpha)
    size = len(TaskRevision.objects.get(task=task).sealed)
    limit(alpha, stored_payload_bytes=2 * size - 1)

    with pytest.raises(QuotaExceeded) as refused:
        create(alpha, 1)

    assert refused.value.facts["quota"] == "stored_payload_bytes"
    assert refused.value.facts["used"] == size


def test_each_place_that_stores_a_version_reserves_for_it(alpha: Tenant):
    from executions.changes.changing import edit_task

    task = make_task(alpha)
    limit(alpha, stored_payload_bytes=1)

    with pytest.raises(QuotaExceeded):
        edit_task(
            alpha.id,
            task.id,
            lambda found, _: (replace(found, payload={"n": 2}), None),
            actor=ACTOR,
        )

    assert TaskRevision.objects.filter(task=task).count() == 1


def test_a_refused_edit_takes_no_released_work_back(alpha: Tenant):
    from executions.changes.changing import edit_task

    task = make_task(alpha, once())
    prepare()
    released = release()
    limit(alpha, stored_payload_bytes=1)

    with pytest.raises(QuotaExceeded):
        edit_task(
            alpha.id, task.id, lambda found, _: (replace(found, priority=1), None), actor=ACTOR
        )

    assert len(released) == 1
    start(released)


def test_a_count_that_takes_too_long_for_a_call_leaves_the_counters_as_they_are(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    limit(alpha, stored_tasks=1)
    create(alpha, 1)
    monkeypatch.setattr(quotas, "_APART_SECONDS", 0.0)

    def slow(_: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 1")
            cursor.execute("SELECT count(*) FROM generate_series(1, 100000000)")

    monkeypatch.setattr(quotas, "_stored", slow)

    with pytest.raises(QuotaExceeded), transaction.atomic():
        create(alpha, 1)


def test_a_rate_refuses_and_says_when_to_come_again(alpha: Tenant):
    limit(alpha, creations_per_second=1)
    quotas.spend(alpha.id, 6000)

    with pytest.raises(QuotaExceeded) as refused:
        create(alpha, 1)

    assert refused.value.facts["quota"] == "creations_per_second"
    assert 1 <= (refused.value.retry_after or 0) <= 6000
    assert stored(alpha) == 0


def test_without_redis_nothing_is_refused(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    limit(alpha, stored_tasks=0, creations_per_second=1)
    monkeypatch.setattr(counters, "client", closed_redis)

    assert len(create(alpha, 9)) == 9


def test_a_redis_that_comes_back_empty_is_told_what_there_is(alpha: Tenant):
    limit(alpha, stored_tasks=3)
    create(alpha, 2)
    client().flushall()

    create(alpha, 1)
    with pytest.raises(QuotaExceeded):
        create(alpha, 1)


def test_the_count_corrects_counters_and_reports_what_is_near(alpha: Tenant, beta: Tenant):
    limit(alpha, stored_tasks=10)
    create(alpha, 8)
    create(beta, 9)
    client().hset(f"punctual:quota:{alpha.id}", "tasks", "77")

    assert quotas.recount_some() == (1, None)
    quotas.recount_some()

    found = counters.read(alpha.id)
    assert found is not None
    assert found.stored.tasks == 8
    [event] = Event.objects.filter(name="quota.near")
    assert (event.tenant_id, (event.data or {}).get("used")) == (alpha.id, 8)


def test_a_tier_of_all_tenants_is_counted_for_all(alpha: Tenant, beta: Tenant, settings: Any):
    settings.PUNCTUAL = replace(conf(), tiers={"default": {"stored_tasks": 5}})

    assert quotas.recount_some()[0] == 2


def test_a_pass_that_takes_too_long_says_where_to_continue(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    limit(alpha, stored_tasks=10)
    limit(beta, stored_tasks=10)
    monkeypatch.setattr(quotas, "_PASS_SECONDS", -1.0)

    done, last = quotas.recount_some()

    assert (done, last) == (1, min(alpha.id, beta.id))
    assert quotas.recount_some(last)[1] == max(alpha.id, beta.id)
    assert quotas.recount_some(max(alpha.id, beta.id)) == (0, None)


@pytest.mark.logs("quota.not_counted")
def test_a_tenant_that_cannot_be_counted_does_not_keep_others_from_it(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    from django.db import OperationalError

    limit(alpha, stored_tasks=10)
    limit(beta, stored_tasks=10)
    count = quotas._stored

    def failing(tenant: Any) -> Any:
        if tenant == alpha.id:
            raise OperationalError("canceling statement due to statement timeout")
        return count(tenant)

    monkeypatch.setattr(quotas, "_stored", failing)

    quotas.recount_some()

    assert counters.read(alpha.id) is None
    assert counters.read(beta.id) is not None


def test_the_use_is_shown_without_limits_too_and_counted_once_a_minute(
    alpha: Tenant, django_assert_num_queries: Any
):
    create(alpha, 2)

    shown = {one["name"]: one for one in quotas.present_quotas(alpha)["quotas"]}

    assert shown["stored_tasks"]["used"] == 2
    assert shown["stored_tasks"]["limit"] is None
    assert shown["stored_tasks"]["share"] is None
    assert shown["calls_per_second"]["used"] is None
    with django_assert_num_queries(0):
        quotas.present_quotas(alpha)


@recounts("quota.free_in_seconds")
def test_a_share_is_of_the_limit_or_of_what_may_come_at_once(alpha: Tenant):
    limit(alpha, stored_tasks=10, creations_per_second=1)
    create(alpha, 8)
    # Nothing is owed, however quickly the test has come here.
    client().delete(f"punctual:quota:{alpha.id}:rate")
    alpha.refresh_from_db()

    shown = {one["name"]: one for one in quotas.present_quotas(alpha)["quotas"]}

    assert shown["stored_tasks"]["share"] == 0.8
    assert shown["stored_tasks"]["near"] is True
    assert shown["creations_per_second"]["used"] == 0
    assert shown["creations_per_second"]["free_in_seconds"] == 0
    quotas.spend(alpha.id, 6000)
    owed = {one["name"]: one for one in quotas.present_quotas(alpha)["quotas"]}
    assert owed["creations_per_second"]["share"] > 1
    assert owed["creations_per_second"]["free_in_seconds"] > 1


def test_an_unknown_tenant_has_nothing_to_reserve():
    quotas.reserve(new_id(), tasks=1)


def test_a_count_that_took_too_long_is_not_tried_by_the_next_calls_too(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    limit(alpha, stored_tasks=3)
    counts: list[object] = []

    def slow(tenant_id: Any) -> Any:
        counts.append(tenant_id)
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 1")
            cursor.execute("SELECT count(*) FROM generate_series(1, 100000000)")

    with monkeypatch.context() as patched:
        patched.setattr(quotas, "_stored", slow)
        for _ in range(3):
            create(alpha, 1)

    assert len(counts) == 1
    quotas.recount_some()  # the pass does not wait for it
    with pytest.raises(QuotaExceeded):
        create(alpha, 1)


def test_what_was_stored_without_a_limit_counts_for_a_new_one(alpha: Tenant):
    create(alpha, 1)
    quotas.use_of(alpha.id, known.limits_of(alpha.id))  # counted for a page
    create(alpha, 4)

    limit(alpha, stored_tasks=5)

    with pytest.raises(QuotaExceeded):
        create(alpha, 1)


def test_what_was_stored_while_unlimited_counts_afterwards(alpha: Tenant):
    limit(alpha, stored_tasks=5)
    create(alpha, 1)
    change_tenant(alpha.id, {"unlimited": True}, actor=ACTOR)
    create(alpha, 4)

    change_tenant(alpha.id, {"unlimited": False}, actor=ACTOR)

    with pytest.raises(QuotaExceeded):
        create(alpha, 1)


def test_a_setting_that_the_tenant_changes_itself_does_not_make_the_database_count(alpha: Tenant):
    limit(alpha, stored_tasks=5)
    create(alpha, 1)

    change_tenant(alpha.id, {"default_jitter_seconds": 5}, actor=ACTOR)

    assert counters.read(alpha.id) is not None


@pytest.fixture
def unaware(alpha: Tenant) -> Any:
    """Set a limit as another process does: this one still knows that there is none."""

    def set_limit(**limits: int | None) -> None:
        create(alpha, 1)
        before = known.noted(alpha.id)
        change_quotas(alpha.id, actor=ACTOR, limits=limits)
        assert before == NONE
        known._note(alpha.id, before)

    return set_limit


def test_a_quota_that_this_process_does_not_know_yet_holds_all_the_same(
    alpha: Tenant, unaware: Any
):
    unaware(stored_tasks=1)

    with (
        pytest.raises(QuotaExceeded, match="may have 1 stored tasks and has 2"),
        transaction.atomic(),
    ):
        create(alpha, 1)

    assert Task.objects.for_tenant(alpha.id).count() == 1


def test_a_quota_that_this_process_does_not_know_yet_leaves_its_room(alpha: Tenant, unaware: Any):
    unaware(stored_tasks=2)

    create(alpha, 1)

    with pytest.raises(QuotaExceeded):
        create(alpha, 1)


def test_doors_that_share_the_pauses_of_a_tenant_note_its_limits(alpha: Tenant, unaware: Any):
    unaware(stored_payload_bytes=5)

    share_active(alpha.id)

    assert known.limits_of(alpha.id).stored_payload_bytes == 5
