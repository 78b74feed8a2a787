from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, models, transaction
from django.test.utils import isolate_apps

from events.models import AuditEntry
from executions.loop.clocks import database_now
from shared.actor import Actor
from shared.exceptions import InvalidInput, NotFound, TooLarge
from shared.instants import format_instant
from tasks.choices import TaskStatus
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.scheduling import schedule
from tenants.models import Tenant

pytestmark = pytest.mark.django_db

URL = "https://shop.example.com/reminders"
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "schedule-from-python.md"


class _Abandoned(Exception):
    """The caller's own failure."""


def abandon(work: Callable[[], object]) -> None:
    """Do the caller's work in a transaction of its own, which then fails."""
    try:
        with transaction.atomic():
            work()
            raise _Abandoned
    except _Abandoned:
        return


def pointers(alpha: Tenant, **wanted: Any) -> set[str]:
    """Return what is said to be wrong; nothing may have been made."""
    with pytest.raises(InvalidInput) as raised:
        schedule(alpha, **{"url": URL, **wanted})
    assert not Task.objects.exists()
    return {error.pointer for error in raised.value.errors}


def test_a_task_is_made_like_by_the_api(alpha):
    at = database_now() + timedelta(days=1)

    task = schedule(
        alpha,
        name="Remind",
        url=URL,
        payload={"order": 7},
        run_at=at,
        labels={"kind": "reminder"},
        priority=2,
        retry_policy={"max_attempts": 3},
    )

    stored = Task.objects.get()
    assert stored == task
    assert (stored.tenant_id, stored.type, stored.status) == (alpha.id, "ONE_TIME", "SCHEDULED")
    definition = read_definition(stored)
    assert definition.name == "Remind"
    assert definition.target["url"] == URL
    assert definition.payload == {"order": 7}
    assert definition.schedule["run_at"] >= format_instant(at)
    assert (definition.priority, definition.labels) == (2, {"kind": "reminder"})
    assert definition.retry_policy["max_attempts"] == 3


@pytest.mark.parametrize(
    ("when", "field", "stored"),
    [
        ({"cron": "0 8 * * *"}, "cron_expression", "0 8 * * *"),
        ({"every": timedelta(minutes=5)}, "every", "PT300S"),
        ({"every": timedelta(days=400)}, "every", "PT34560000S"),
        ({"every": "PT5M"}, "every", "PT5M"),
        ({"schedule": {"every": timedelta(seconds=2)}}, "every", "PT2S"),
        (
            {"every": "P1D", "end_at": datetime(2099, 1, 1, tzinfo=UTC)},
            "end_at",
            "2099-01-01T00:00:00.000Z",
        ),
        ({"every": "P1D", "schedule": {"misfire_policy": "replay"}}, "misfire_policy", "replay"),
        ({"cron": "@daily", "timezone": "Europe/Berlin"}, "timezone", "Europe/Berlin"),
    ],
)
def test_when_is_told_in_pythons_own_types(alpha, when, field, stored):
    assert schedule(alpha, url=URL, **when).schedule[field] == stored


@pytest.mark.parametrize("delay", [timedelta(minutes=2), 120, 120.0])
def test_a_delay_counts_from_the_call(alpha, delay):
    before = database_now()

    at = schedule(alpha, url=URL, delay=delay).next_run_at

    assert at is not None
    assert before <= at - timedelta(minutes=2) <= database_now() + timedelta(milliseconds=1)


def test_the_tenant_may_be_given_by_its_id_or_name(alpha):
    for tenant in (alpha.id, str(alpha.id), "Alpha"):
        assert schedule(tenant, url=URL, delay=5).tenant_id == alpha.id


def test_whoever_asked_is_in_the_audit_log(alpha):
    schedule(alpha, url=URL, delay=5)
    schedule(alpha, url=URL, delay=5, actor=Actor("shop"))

    entries = AuditEntry.objects.filter(action="task.created").order_by("sequence")
    assert [entry.actor for entry in entries] == ["python", "shop"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, "#/schedule"),
        ({"cron": "61 * * * *"}, "#/cron"),
        ({"cron": "@daily", "every": "PT5M"}, "#/every"),
        ({"delay": -1}, "#/delay"),
        ({"delay": timedelta(seconds=-1)}, "#/delay"),
        ({"every": timedelta(seconds=0.5)}, "#/every"),
        ({"every": timedelta(seconds=-5)}, "#/every"),
        ({"run_at": datetime(2099, 1, 1)}, "#/run_at"),  # noqa: DTZ001 - without an offset
        ({"run_at": datetime(1999, 1, 1, tzinfo=UTC)}, "#/run_at"),
        ({"cron": "@daily", "timezone": "Berlin"}, "#/timezone"),
        ({"delay": 5, "url": "ftp://shop.example.com"}, "#/url"),
        ({"delay": 5, "url": None}, "#/target"),
        ({"delay": 5, "target": {"url": URL}}, "#/url"),
        ({"delay": 5, "schedule": {"delay_seconds": 6}}, "#/delay"),
        ({"delay": 5, "schedule": {"jitter_seconds": -1}}, "#/schedule/jitter_seconds"),
        ({"delay": 5, "labels": {"team": 7}}, "#/labels/team"),
        ({"delay": 5, "payload": {"at": {1, 2}}}, "#/payload/at"),
        ({"delay": 5, "priority": 10, "name": ""}, "#/name #/priority"),
        ({"delay": 5, "key": ""}, "#/key"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named_by_its_argument_and_makes_nothing(alpha, wanted, expected):
    assert pointers(alpha, **wanted) == set(expected.split())


def test_a_payload_over_the_limit_is_refused(alpha):
    with pytest.raises(TooLarge):
        schedule(alpha, url=URL, delay=5, payload="x" * 300_000)


def test_an_unknown_argument_is_pythons_own_error(alpha):
    with pytest.raises(TypeError, match="cronn"):
        schedule(alpha, url=URL, cronn="@daily")  # type: ignore[call-arg]  # the mistake itself


def test_the_tenants_default_jitter_holds_here_too(alpha):
    Tenant.objects.update(default_jitter_seconds=30)

    assert schedule(alpha, url=URL, cron="@daily").schedule["jitter_seconds"] == 30


def test_a_rollback_of_the_caller_leaves_nothing(alpha, on_commit):
    with on_commit() as waiting:
        abandon(lambda: schedule(alpha, url=URL, delay=0))

    assert not Task.objects.exists()
    assert not AuditEntry.objects.filter(action="task.created").exists()
    assert not waiting


def test_the_scheduler_is_woken_by_the_commit_and_not_before(alpha, on_commit):
    with on_commit() as waiting, transaction.atomic():
        task = schedule(alpha, url=URL, delay=0)

    assert Task.objects.get() == task
    assert [callback.__module__ for callback in waiting] == ["shared.notify"]


def test_a_refusal_leaves_the_callers_transaction_usable(alpha):
    with transaction.atomic():
        with pytest.raises(InvalidInput):
            schedule(alpha, url=URL, cron="never")
        schedule(alpha, url=URL, cron="@daily")

    assert Task.objects.count() == 1


def test_a_key_makes_one_task_however_often_it_is_asked_for(alpha):
    first = schedule(alpha, url=URL, delay=5, key="order-7")

    again = schedule(alpha, url=URL, cron="@daily", key="order-7")

    assert again.pk == first.pk
    assert again.type == "ONE_TIME"
    assert Task.objects.count() == 1


def test_a_key_stays_used_when_its_task_is_deleted(alpha):
    first = schedule(alpha, url=URL, delay=5, key="order-7")
    Task.objects.update(deleted_at=database_now(), status=TaskStatus.CANCELLED)

    assert schedule(alpha, url=URL, delay=5, key="order-7").pk == first.pk


def test_a_key_is_the_tenants_own(alpha, beta):
    ours, theirs = (schedule(tenant, url=URL, delay=5, key="7") for tenant in (alpha, beta))

    assert ours.pk != theirs.pk
    assert theirs.tenant_id == beta.id


def test_a_key_is_free_again_after_a_rollback(alpha):
    abandon(lambda: schedule(alpha, url=URL, delay=5, key="order-7"))

    assert schedule(alpha, url=URL, delay=5, key="order-7").pk == Task.objects.get().pk


def test_a_tenant_that_is_not_there_makes_nothing():
    with pytest.raises(NotFound):
        schedule(uuid4(), url=URL, delay=5)


@isolate_apps()
def test_the_documented_example_does_what_the_page_says(alpha):
    class Order(models.Model):
        customer = models.TextField(unique=True)

        class Meta:
            app_label = "shop"

    with connection.schema_editor() as editor:
        editor.create_model(Order)
    names: dict[str, Any] = {"Order": Order, "tenant": alpha}
    for example in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(example, names)
    assert Task.objects.get().schedule["misfire_replay_limit"] == 5

    order = names["place_order"](alpha, "ann")

    reminder = Task.objects.get(labels={"kind": "reminder"})
    assert reminder.name == f"Remind of order {order.pk}"
    assert read_definition(reminder).payload == {"order": order.pk}

    abandon(lambda: names["place_order"](alpha, "bob"))

    assert Order.objects.count() == 1  # type: ignore[attr-defined]  # made in this test
    assert Task.objects.count() == 2


def test_what_is_given_twice_is_said_with_everything_else_that_is_wrong(alpha):
    with pytest.raises(InvalidInput) as refused:
        schedule(
            alpha,
            url=URL,
            target={"url": URL},
            cron="x",
            schedule={"cron_expression": "x", "jitter_seconds": -1},
        )

    assert {error.pointer for error in refused.value.errors} == {
        *("#/url", "#/cron", "#/schedule/jitter_seconds"),
    }
