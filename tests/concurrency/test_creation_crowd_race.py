from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import DataError, connection, transaction

from events import audit
from events.models import AuditEntry, Event
from shared.ids import new_id
from tasks import bulk, creation, standing_pauses
from tasks.models import Pause, Task, TaskRevision
from tenants.models import IdempotencyRecord, Tenant
from tests.factories import daily, make_client, make_tenant, once
from tests.support.api import ApiClient
from tests.support.crowds import Crowd
from tests.support.waiting import until

NAMES = [f"task-{number}" for number in range(10)]
#: Distinct ones, as different programs send them.
TRACES = {name: f"{number + 1:032x}" for number, name in enumerate(NAMES)}


@pytest.fixture
def crowd(monkeypatch: pytest.MonkeyPatch) -> Crowd:
    return Crowd(monkeypatch)


@pytest.fixture
def client(alpha: Tenant) -> ApiClient:
    return make_client(alpha)


def create(client: ApiClient, name: str, body: Any = None, key: str | None = None) -> Any:
    traceparent = f"00-{TRACES.get(name, 'f' * 32)}-00f067aa0ba902b7-01"
    sent = once(name=name) if body is None else body
    return client.post("/v1/tasks", sent, idempotency_key=key or name, traceparent=traceparent)


def calls(client: ApiClient, *names: str) -> dict[str, Callable[[], Any]]:
    return {name: partial(create, client, name) for name in names}


@contextmanager
def gathering(tenant: Tenant, crowd: Crowd, client: ApiClient) -> Iterator[None]:
    """Hold up a first creation in the database: who comes meanwhile is written together."""
    with transaction.atomic():
        standing_pauses.own(tenant.id)
        crowd.call("first", partial(create, client, "first"))
        until(_somebody_waits_for_pauses)
        yield


def _somebody_waits_for_pauses() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND classid = 727302)"
        )
        return bool(cursor.fetchone()[0])


def transactions() -> int:
    """Return how many transactions have written the tasks that there are."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT xmin::text) FROM tasks")
        return int(cursor.fetchone()[0])


def sessions() -> int:
    """Return how many sessions this database has."""
    with connection.cursor() as cursor:
        # Inside of a transaction the answer is kept.
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def test_a_crowd_is_created_exactly_once_in_fewer_transactions_than_calls(
    alpha: Tenant, client: ApiClient, crowd: Crowd
):
    before, _ = audit.verify(alpha.id)
    with gathering(alpha, crowd, client):
        crowd.gather(calls(client, *NAMES))

    answers = crowd.join()

    assert {answer.status_code for answer in answers.values()} == {201}
    tasks = {str(task.pk): task for task in Task.objects.all()}
    assert len(tasks) == len(answers) == len(NAMES) + 1
    for name, answer in answers.items():
        shown = answer.json()
        assert (shown["name"], tasks[shown["id"]].name) == (name, name)
        assert answer.headers["Location"] == f"/v1/tasks/{shown['id']}"
        assert answer.headers["ETag"] == '"1"'
        assert client.get(answer.headers["Location"]).json()["payload"] == shown["payload"]
    assert transactions() == 2
    read = AuditEntry.objects.filter(action="payload.read").count()
    assert audit.verify(alpha.id) == (before + len(answers) + read, None)
    assert TaskRevision.objects.count() == IdempotencyRecord.objects.count() == len(answers)
    assert Event.objects.filter(name="task.changed").count() == len(answers)


def test_each_of_a_crowd_is_named_in_the_log_by_its_own_key_and_trace(
    alpha: Tenant, client: ApiClient, crowd: Crowd
):
    other = make_client(alpha)
    with gathering(alpha, crowd, client):
        crowd.gather(calls(client, *NAMES[:3]) | calls(other, *NAMES[3:5]))

    answers = crowd.join()

    entries = {entry.object_id: entry for entry in AuditEntry.objects.filter(action="task.created")}
    by = {}
    for name in NAMES[:5]:
        entry = entries[answers[name].json()["id"]]
        revision = TaskRevision.objects.get(task_id=UUID(entry.object_id))
        assert (entry.trace_id, entry.address) == (TRACES[name], "127.0.0.1")
        assert revision.changed_by == entry.actor
        by[name] = entry.actor
    assert len(set(by.values())) == 2
    assert len({by[name] for name in NAMES[:3]}) == len({by[name] for name in NAMES[3:5]}) == 1


def test_a_bad_body_in_a_crowd_is_refused_and_harms_nobody(
    alpha: Tenant, client: ApiClient, crowd: Crowd
):
    with gathering(alpha, crowd, client):
        crowd.gather(
            {
                "bad": partial(create, client, "bad", daily(priority=77)),
                "empty": partial(create, client, "empty", {}),
                **calls(client, "a", "b"),
            }
        )

    answers = crowd.join()

    assert answers["bad"].status_code == answers["empty"].status_code == 400
    assert [error["pointer"] for error in answers["bad"].json()["errors"]] == ["#/priority"]
    assert sorted(Task.objects.values_list("name", flat=True)) == ["a", "b", "first"]
    assert transactions() == 2
    again = create(client, "bad", daily(priority=77))
    assert (again.content, again.headers["Idempotent-Replayed"]) == (answers["bad"].content, "true")


def test_one_key_twice_in_a_crowd_is_one_task(alpha: Tenant, client: ApiClient, crowd: Crowd):
    with gathering(alpha, crowd, client):
        crowd.gather(calls(client, "a", "b"))
        again = create(client, "a")

    assert again.status_code == 409
    crowd.join()
    assert sorted(Task.objects.values_list("name", flat=True)) == ["a", "b", "first"]
    assert create(client, "a").content == crowd.answers["a"].content


def test_what_only_the_database_refuses_spares_the_others(
    alpha: Tenant, client: ApiClient, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
):
    def refuse_one(prepared: Any, **options: Any) -> Any:
        made = creation.write_tasks(prepared, **options)
        if any(task.name == "bad" for task in made):
            raise DataError("out of range")
        return made

    monkeypatch.setattr(bulk, "write_tasks", refuse_one)
    before, _ = audit.verify(alpha.id)
    with gathering(alpha, crowd, client):
        crowd.gather(calls(client, "a", "bad", "b"))

    answers = crowd.join()

    assert {name: answer.status_code for name, answer in answers.items()} == {
        **dict.fromkeys(["first", "a", "b"], 201),
        "bad": 400,
    }
    assert sorted(Task.objects.values_list("name", flat=True)) == ["a", "b", "first"]
    assert audit.verify(alpha.id) == (before + 3, None)


def test_ids_that_clash_are_made_anew(
    alpha: Tenant, client: ApiClient, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
):
    with gathering(alpha, crowd, client):
        crowd.gather(calls(client, "a", "b"))
        same = new_id()
        ids = iter([same, same])
        monkeypatch.setattr(
            creation,
            "new_ids",
            lambda count: [next(ids, None) or new_id() for _ in range(count)],
        )

    assert {answer.status_code for answer in crowd.join().values()} == {201}
    assert sorted(Task.objects.values_list("name", flat=True)) == ["a", "b", "first"]


def test_who_waits_needs_no_connection_but_the_next_to_write(
    alpha: Tenant, client: ApiClient, crowd: Crowd
):
    with gathering(alpha, crowd, client):
        before = sessions()
        crowd.gather(calls(client, "a", "b", "c"))

        until(lambda: sessions() == before + 1)

    assert {answer.status_code for answer in crowd.join().values()} == {201}


def test_another_tenant_is_not_held_up_by_a_crowd(alpha: Tenant, client: ApiClient, crowd: Crowd):
    beta = make_tenant("Beta")
    stranger = make_client(beta)
    with gathering(alpha, crowd, client):
        crowd.gather(calls(client, "a", "b"))
        crowd.call("theirs", partial(create, stranger, "theirs"))
        until(lambda: crowd.answers)

        assert set(crowd.answers) == {"theirs"}

    answers = crowd.join()
    assert {answer.status_code for answer in answers.values()} == {201}
    for tenant, names in ((alpha, ["a", "b", "first"]), (beta, ["theirs"])):
        found = Task.objects.filter(tenant_id=tenant.id)
        assert sorted(found.values_list("name", flat=True)) == names
        assert audit.verify(tenant.id)[1] is None


def test_a_pause_that_begins_while_a_crowd_waits_has_what_it_covers(
    alpha: Tenant, client: ApiClient, crowd: Crowd
):
    labelled = once(name="held", labels={"team": "a"})
    with gathering(alpha, crowd, client):
        crowd.gather({"held": partial(create, client, "held", labelled), **calls(client, "free")})
        pause = Pause.objects.create(tenant=alpha, scope="label", value="team:a", created_by="x")

    answers = crowd.join()

    assert answers["free"].json()["paused_by"] is None
    held = answers["held"].json()
    assert (held["status"], held["paused_by"]["id"]) == ("PAUSED", str(pause.id))
    assert client.get(f"/v1/tasks/{held['id']}").json()["status"] == "PAUSED"


def test_calls_that_meet_by_chance_are_each_created_once(
    alpha: Tenant, client: ApiClient, crowd: Crowd
):
    before, _ = audit.verify(alpha.id)
    for number in range(40):
        # Every fourth call repeats the one before it.
        name = f"key-{number - (number % 4 == 3)}"
        crowd.call(f"{number}", partial(create, client, name))

    answers = crowd.join()

    assert {answer.status_code for answer in answers.values()} <= {201, 409}
    assert len({a.json()["id"] for a in answers.values() if a.status_code == 201}) == 30
    assert Task.objects.count() == IdempotencyRecord.objects.count() == 30
    assert audit.verify(alpha.id) == (before + 30, None)
