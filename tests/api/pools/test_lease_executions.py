from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from executions.models import Execution, Pool
from shared import execution_tokens
from shared.redis_client import client as redis_client
from shared.trace_context import TraceContext, span_of
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.leasing import POOL, call, let_expire, reread, rescue, work
from tests.factories import ApiClient, spoil
from tests.support.closed_redis import closed_redis

PATH = f"/v1/pools/{POOL}/lease"


def lease(client: ApiClient, **parts: Any) -> list[dict[str, Any]]:
    answer = client.post(PATH, {"worker": "w-1", **parts})
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["leases"]
    return found


def test_due_work_is_leased_with_all_that_a_worker_needs(client: ApiClient, alpha: Tenant):
    [task] = work(alpha, payload={"month": 11})

    [found] = lease(client, lease_seconds=30)

    row: Any = Execution.objects.get(task_id=task.id)
    assert found["execution"]["id"] == str(row.id)
    assert (found["execution"]["status"], found["execution"]["pool"]) == ("QUEUED", POOL)
    assert (found["handler"], found["payload"]) == ("make_invoice", {"month": 11})
    assert (found["attempt"], found["progress"]) == (1, None)
    assert found["fencing_token"] == row.fencing_token
    assert execution_tokens.verify(found["token"], str(row.id)) == row.fencing_token
    assert (row.worker, row.timeout_seconds) == ("w-1", 30)
    assert (row.lease_expires_at - row.queued_at).total_seconds() == 30


def test_a_lease_has_the_trace_that_a_webhook_would_have(client: ApiClient, alpha: Tenant):
    own, continues = work(alpha, 2)
    kept = TraceContext("4bf92f3577b34da6a3ce929d0e0e4736", "00", "rojo=1")
    Execution.objects.filter(task_id=continues.id).update(trace_context=kept.to_text())

    found = {one["execution"]["task_id"]: one for one in lease(client)}

    of_own, of_kept = found[str(own.id)], found[str(continues.id)]
    execution = of_own["execution"]["id"].replace("-", "")
    span = span_of(execution, 1)
    assert (of_own["traceparent"], of_own["tracestate"]) == (f"00-{execution}-{span}-01", "")
    span = span_of(of_kept["execution"]["id"].replace("-", ""), 1)
    assert of_kept["traceparent"] == f"00-{kept.trace_id}-{span}-00"
    assert of_kept["tracestate"] == "rojo=1"


def test_a_reference_is_leased_in_place_of_a_payload(client: ApiClient, alpha: Tenant):
    work(alpha, payload=None, payload_ref="s3://bucket/key")

    [found] = lease(client)

    assert found["payload"] == {"payload_ref": "s3://bucket/key"}


def test_nothing_due_is_an_empty_list_and_makes_the_pool(client: ApiClient, alpha: Tenant):
    assert lease(client) == []
    assert Pool.objects.get(tenant=alpha).name == POOL


def test_no_more_than_asked_is_leased_and_nothing_twice(client: ApiClient, alpha: Tenant):
    work(alpha, 3)

    first, second = lease(client, max=2), lease(client, max=2)

    ids = [one["execution"]["id"] for one in first + second]
    assert (len(first), len(second), len(set(ids))) == (2, 1, 3)


def test_urgent_work_is_leased_first(client: ApiClient, alpha: Tenant):
    work(alpha, priority=9)
    work(alpha, priority=5)
    [urgent] = work(alpha, priority=0)

    [found] = lease(client, max=1)

    assert found["execution"]["task_id"] == str(urgent.id)


def test_work_is_leased_only_to_labels_that_satisfy_it(client: ApiClient, alpha: Tenant):
    work(alpha, target={"requires": {"gpu": "a100"}})

    assert lease(client, labels={"gpu": "t4"}) == []
    assert lease(client) == []
    assert len(lease(client, labels={"gpu": "a100", "zone": "b"})) == 1


def test_the_next_attempt_gets_the_last_progress(client: ApiClient, alpha: Tenant):
    work(alpha, retry_policy={"initial_delay_seconds": 0, "backoff": "fixed"})
    [found] = lease(client)
    call(found["execution"]["id"], "heartbeat", found["token"], {"progress": {"done": 7}})
    call(found["execution"]["id"], "fail", found["token"], {"error": "no"})

    [again] = lease(client)

    assert (again["attempt"], again["progress"]) == (2, {"done": 7})
    assert again["fencing_token"] > found["fencing_token"]


def test_a_lease_that_is_over_is_given_to_another(client: ApiClient, alpha: Tenant):
    work(alpha, retry_policy={"initial_delay_seconds": 0, "backoff": "fixed"})
    [found] = lease(client)
    let_expire(UUID(found["execution"]["id"]))
    assert rescue() == 1

    [again] = lease(client, worker="w-2")

    assert again["execution"]["id"] == found["execution"]["id"]
    assert problem(call(found["execution"]["id"], "complete", found["token"])) == (
        409,
        "stale_lease",
    )


def test_a_paused_task_gives_nothing(client: ApiClient, alpha: Tenant):
    [task] = work(alpha)
    client.post(f"/v1/tasks/{task.id}/pause", {})

    assert lease(client) == []


def test_an_edit_leaves_leased_work_as_it_is(client: ApiClient, alpha: Tenant):
    [task] = work(alpha, payload={"v": 1})
    [found] = lease(client)

    answer = client.patch(f"/v1/tasks/{task.id}", {"payload": {"v": 2}})

    assert answer.status_code == 200, answer.content
    row = reread(UUID(found["execution"]["id"]))
    assert (row.status, row.attempt, row.fencing_token) == ("RUNNING", 1, found["fencing_token"])
    assert call(row.id, "complete", found["token"]).status_code == 200


def test_a_worker_that_leases_is_listed(client: ApiClient, stranger: ApiClient, alpha: Tenant):
    work(alpha)
    lease(client, worker="etl-7", max=4)

    [worker] = client.get("/v1/workers").json()["workers"]

    assert (worker["name"], worker["pool"], worker["state"]) == ("etl-7", POOL, "live")
    assert (worker["capacity"], worker["in_flight"]) == (4, 1)
    assert stranger.get("/v1/workers").json()["workers"] == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "#/worker"),
        ({"worker": ""}, "#/worker"),
        ({"worker": "w" * 81}, "#/worker"),
        ({"worker": 1}, "#/worker"),
        ({"worker": "w", "max": 0}, "#/max"),
        ({"worker": "w", "max": 101}, "#/max"),
        ({"worker": "w", "max": "1"}, "#/max"),
        ({"worker": "w", "lease_seconds": 4}, "#/lease_seconds"),
        ({"worker": "w", "lease_seconds": 3601}, "#/lease_seconds"),
        ({"worker": "w", "wait_seconds": 21}, "#/wait_seconds"),
        ({"worker": "w", "wait_seconds": -1}, "#/wait_seconds"),
        ({"worker": "w", "labels": []}, "#/labels"),
        ({"worker": "w", "labels": {"a": 1}}, "#/labels/a"),
        ({"worker": "w", "labels": {"a" * 64: "x"}}, "#/labels"),
        ({"worker": "w", "labels": {str(n): "" for n in range(33)}}, "#/labels"),
        ({"worker": "w", "wait": 1}, "#/wait"),
    ],
)
def test_wrong_bodies_are_400(client: ApiClient, body: Any, pointer: str):
    answer = client.post(PATH, body)

    assert problem(answer) == (400, "invalid")
    assert answer.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("name", ["Batch", "-a", "a.b", "a" * 51, "%20"])
def test_a_name_that_no_pool_may_have_is_400(client: ApiClient, name: str):
    assert problem(client.post(f"/v1/pools/{name}/lease", {"worker": "w"})) == (400, "invalid")


def test_a_body_that_is_too_large_is_413(client: ApiClient):
    assert problem(client.post(PATH, b" " * 70_000))[0] == 413


def test_another_tenants_work_is_not_leased(stranger: ApiClient, client: ApiClient, alpha: Tenant):
    work(alpha)

    assert lease(stranger) == []
    assert len(lease(client)) == 1


def test_without_redis_nothing_is_leased(
    client: ApiClient, alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    [task] = work(alpha)
    closed = closed_redis()
    monkeypatch.setattr("wire.start_guard.client", lambda: closed)

    answer = client.post(PATH, {"worker": "w"})

    assert answer.status_code == 503
    assert Execution.objects.get(task_id=task.id).status == "PENDING"


def test_a_redis_that_restarts_meanwhile_hands_out_nothing(
    client: ApiClient, alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    [task] = work(alpha)
    monkeypatch.setattr("wire.start_guard.current_incarnation", lambda: "a former one")

    answer = client.post(PATH, {"worker": "w"})

    assert problem(answer) == (503, "unavailable")
    assert Execution.objects.get(task_id=task.id).status == "PENDING"
    assert not redis_client().keys("punctual:guard:*")


def test_reading_is_405(client: ApiClient):
    assert problem(client.get(PATH)) == (405, "method_not_allowed")


def test_work_that_no_key_opens_fails_its_attempt_and_holds_up_nobody(
    client: ApiClient, alpha: Tenant
):
    [first] = work(alpha, priority=0)
    work(alpha, payload={"n": 2})
    spoil(first)

    [found] = lease(client)

    assert found["payload"] == {"n": 2}
    execution = Execution.objects.get(task_id=first.id)
    [attempt] = execution.attempts.all()
    assert (execution.status, execution.attempt) == ("RETRYING", 1)
    assert (attempt.outcome, attempt.error_code) == ("FAILED", "internal")
    assert "sealed" in attempt.error_message
    assert lease(client) == []


def test_a_payload_of_its_own_or_progress_that_no_key_opens_fails_its_attempt(
    client: ApiClient, alpha: Tenant
):
    work(alpha, 2)
    payload, progress = Execution.objects.order_by("id")
    Execution.objects.filter(id=payload.id).update(sealed_payload=b"\x01")
    Execution.objects.filter(id=progress.id).update(sealed_progress=b"\x01")

    assert lease(client) == []

    assert {one.status for one in Execution.objects.all()} == {"RETRYING"}
