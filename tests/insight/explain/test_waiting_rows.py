"""A page of waiting rows says what each row's own explanation says, in a few reads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from executions.changes import changing
from executions.loop.clocks import database_now
from executions.models import Execution, Pool
from insight.explain.waiting import waiting_for
from insight.explain.waiting_rows import waits_of_rows
from shared.instants import format_instant
from tasks.models import Task
from tasks.transitions import Pause
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_task, reload
from tests.insight.explain.cast import HOUR, MINUTE, minutely, owned, row, this_minute, working
from tests.support.closed_redis import closed_redis
from wire.worker_wishes import Word, change

pytestmark = pytest.mark.django_db

Make = Callable[[Tenant], Execution]


def _at(minutes: int, status: str = "PENDING", **fields) -> Make:
    return lambda tenant: row(minutely(tenant), this_minute(minutes * MINUTE), status, **fields)


def _paused(tenant: Tenant, until=None) -> Execution:
    found = _at(-1)(tenant)
    changing.pause_task(tenant.id, found.task_id, Pause(until), actor=ACTOR)
    return found


def _paused_until(tenant: Tenant) -> Execution:
    return _paused(tenant, this_minute(HOUR))


def _retrying(tenant: Tenant) -> Execution:
    later = this_minute(9 * MINUTE)
    return row(minutely(tenant), this_minute(-MINUTE), "RETRYING", due_at=later, attempt=1)


def _gated(tenant: Tenant, **schedule) -> Execution:
    return row(minutely(tenant, schedule), this_minute(-MINUTE), gated=True, held=True)


def _of_a_paused_pool(tenant: Tenant) -> Execution:
    Pool.objects.create(tenant=tenant, name="batch", paused=True)
    task = make_task(
        tenant, daily(target={"kind": "pool", "pool": "batch", "handler": "make_invoice"})
    )
    return row(task, this_minute(-MINUTE), pool=task.pool)


MADE: dict[str, Make] = {
    "due_time": _at(9),
    "queued ahead": _at(9, "QUEUED"),
    "start": _at(-1, "QUEUED"),
    "pause": _paused,
    "pause with an end": _paused_until,
    "retry": _retrying,
    "overlap": lambda tenant: _gated(tenant, overlap_policy="queue_all"),
    "max_concurrent": lambda tenant: _gated(tenant, max_concurrent=1),
    "pool": _of_a_paused_pool,
    "worker": _at(-1),
    "on hold": _at(-1, held=True),
}


def _told(found: Execution) -> tuple[str, str | None] | None:
    wait = waits_of_rows(found.tenant_id, [found], database_now()).get(found.pk)
    return None if wait is None else (wait.what, format_instant(wait.until) if wait.until else None)


def _explained(found: Execution) -> tuple[str, str | None] | None:
    shown = waiting_for(found, reload(Task(pk=found.task_id)), database_now())
    return None if shown is None else (shown["what"], shown["until"])


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_row_waits_for_what_its_explanation_says(alpha: Tenant, make: Make):
    owned()
    found = make(alpha)
    found.refresh_from_db()

    assert _told(found) == _explained(found)
    assert _told(found) is not None


def test_the_words_say_why_no_worker_takes_it(alpha: Tenant):
    owned()
    found = _at(-1)(alpha)

    def words() -> str:
        return waits_of_rows(alpha.pk, [found], database_now())[found.pk].words

    assert words() == "a worker: none of the pool default lives"
    working()
    assert words() == "a free worker of the pool default"
    change(Word.QUIET, {"worker-1@host:1": 0})
    assert words() == "a worker: those of the pool default take no new work"
    assert _told(found) == _explained(found) == ("worker", None)


def test_schedulers_redis_and_a_tenant_are_told(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    found = _at(-1)(alpha)
    assert _told(found) == _explained(found) == ("scheduler", None)
    owned()
    monkeypatch.setattr("wire.heartbeats.client", closed_redis)
    assert _told(found) == _explained(found) == ("redis", None)
    Tenant.objects.filter(pk=alpha.pk).update(suspended_at=database_now())
    assert _told(found) == _explained(found) == ("tenant", None)


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("circuit_open", "the circuit of a.example to close"),
        ("destination_rate", "its turn at a.example"),
        ("destination_in_flight", "a free place at a.example"),
        ("", "capacity of a.example"),
    ],
)
def test_the_words_name_what_the_destination_lacks(alpha: Tenant, reason: str, words: str):
    owned()
    working()
    found = _at(-1, parked=True, destination="a.example", reason=reason)(alpha)

    wait = waits_of_rows(alpha.pk, [found], database_now())[found.pk]

    assert (wait.what, wait.words) == ("destination", words)


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "SKIPPED"])
def test_what_runs_or_has_ended_waits_for_nothing(alpha: Tenant, status: str):
    assert _told(_at(-1, status)(alpha)) is None


def test_more_rows_cost_no_more_queries(alpha: Tenant, beta: Tenant, django_assert_max_num_queries):
    found = [make(alpha) for make in list(MADE.values())[:6]]
    theirs = _at(-1)(beta)

    with django_assert_max_num_queries(6):
        waits = waits_of_rows(alpha.pk, found, database_now())

    assert set(waits) == {one.pk for one in found}
    assert theirs.pk not in waits
