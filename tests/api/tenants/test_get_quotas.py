from __future__ import annotations

from typing import Any

import pytest

from api.protocol import problems
from shared.log_pace import Pace
from shared.redis_client import lua
from tasks.models import Task
from tasks.quotas import spend
from tenants.models import Tenant
from tenants.services import change_quotas
from tests.factories import ACTOR, daily, make_task, once
from tests.support.api import make_client
from tests.support.log_lines import lines_of

pytestmark = pytest.mark.django_db


def limit(tenant: Tenant, **limits: int | None) -> None:
    change_quotas(tenant.id, actor=ACTOR, limits=limits)


def quota(client: Any, name: str) -> dict[str, Any]:
    answer = client.get("/v1/quotas")
    assert answer.status_code == 200
    return next(one for one in answer.json()["quotas"] if one["name"] == name)


def test_each_quota_has_its_limit_and_its_use(client, alpha):
    limit(alpha, stored_tasks=5)
    make_task(alpha)

    assert quota(client, "stored_tasks") == {
        "name": "stored_tasks",
        "limit": 5,
        "used": 1,
        "share": 0.2,
        "near": False,
        "free_in_seconds": None,
    }
    assert client.get("/v1/quotas").json()["tier"] == "default"


def test_each_tenant_sees_its_own(client, stranger, alpha, beta):
    limit(alpha, stored_tasks=5)
    make_task(alpha)

    assert quota(stranger, "stored_tasks")["limit"] is None
    assert quota(stranger, "stored_tasks")["used"] == 0


def test_a_key_sees_its_limits_with_itself(alpha):
    limit(alpha, stored_tasks=5, calls_per_second=7)

    limits = make_client(alpha, ["worker"]).get("/v1/me").json()["limits"]

    assert limits["tier"] == "default"
    assert limits["calls_per_second"] == 7
    assert limits["quotas"] == {
        "stored_tasks": 5,
        "stored_payload_bytes": None,
        "creations_per_second": None,
        "calls_per_second": 7,
        "executions_in_flight": None,
        "executions_per_second": None,
        "runs_in_flight": None,
        "steps_in_flight": None,
        "retention_days": None,
    }


def test_nobody_changes_quotas_by_the_api(client, owner, alpha):
    for caller in (client, owner):
        for method in ("PATCH", "PUT", "POST"):
            answer = caller.call(method, "/v1/quotas", {"tier": "large"}, idempotency_key="1")
            assert answer.status_code == 405
        for body in ({"tier": "large"}, {"quotas": {"stored_tasks": 9}}):
            assert caller.patch("/v1/me", body).status_code == 400

    alpha.refresh_from_db()
    assert (alpha.tier, alpha.quotas) == ("default", {})


def test_a_creation_over_the_limit_is_429_and_says_what_is_used(client, alpha):
    limit(alpha, stored_tasks=1)
    assert client.post("/v1/tasks", once(), idempotency_key="1").status_code == 201

    refused = client.post("/v1/tasks", once(), idempotency_key="2")

    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "60"
    problem = refused.json()
    assert (problem["code"], problem["type"]) == ("quota_exceeded", "/problems/quota_exceeded")
    assert (problem["quota"], problem["limit"], problem["used"]) == ("stored_tasks", 1, 1)
    assert Task.objects.count() == 1


def test_a_refused_key_may_be_used_again_once_there_is_room(client, alpha):
    limit(alpha, stored_tasks=0)
    assert client.post("/v1/tasks", once(), idempotency_key="1").status_code == 429

    limit(alpha, stored_tasks=1)

    assert client.post("/v1/tasks", once(), idempotency_key="1").status_code == 201


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("quotas", [{"stored_tasks": 3}, {"creations_per_second": 1}])
def test_a_bulk_call_over_the_limit_creates_nothing(client, alpha, atomic, quotas):
    make_task(alpha)
    limit(alpha, **quotas)
    if "creations_per_second" in quotas:
        spend(alpha.id, 6000)
    before = Task.objects.count()

    body = {"tasks": [once()] * 4, "atomic": atomic}
    refused = client.post("/v1/tasks/bulk", body, idempotency_key="1")

    assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
    assert Task.objects.count() == before


def test_every_door_of_the_api_that_stores_is_closed(client, alpha):
    task = make_task(alpha)
    flow = {"name": "flow", "steps": [{"key": "a", "kind": "approval"}]}
    limit(alpha, stored_tasks=1, stored_payload_bytes=1)
    path = f"/v1/tasks/{task.id}"

    answers = {
        "create": client.post("/v1/tasks", once(), idempotency_key="1"),
        "bulk": client.post("/v1/tasks/bulk", {"tasks": [once()]}, idempotency_key="2"),
        "clone": client.post(f"{path}/clone", {}, idempotency_key="3"),
        "workflow": client.post("/v1/workflows", flow, idempotency_key="4"),
        "edit": client.patch(path, {"payload": {"large": "x" * 100}}),
        "replace": client.put(path, daily(payload={"large": "x" * 100})),
    }

    assert {name: answer.json().get("code") for name, answer in answers.items()} == dict.fromkeys(
        answers, "quota_exceeded"
    )
    assert Task.objects.count() == 1
    # What stores nothing goes on.
    assert client.post(f"{path}/run", {}, idempotency_key="5").status_code < 300
    assert client.post(f"{path}/pause", {}, idempotency_key="6").status_code < 300
    assert client.delete(path).status_code < 300


def test_a_deletion_makes_room(client, alpha, monkeypatch):
    monkeypatch.setattr("tasks.quotas._APART_SECONDS", 0.0)
    limit(alpha, stored_tasks=1)
    made = client.post("/v1/tasks", daily(), idempotency_key="1").json()
    assert client.post("/v1/tasks", once(), idempotency_key="2").status_code == 429

    client.delete(f"/v1/tasks/{made['id']}")

    assert client.post("/v1/tasks", once(), idempotency_key="3").status_code == 201


def test_a_limit_of_calls_takes_the_place_of_the_installations(client, alpha, monkeypatch):
    still = lua("rate").replace("redis.call('TIME')", "{'2000000000', '0'}")
    monkeypatch.setattr("api.protocol.rate_limits.lua", lambda _: still)
    limit(alpha, calls_per_second=1)

    answers = [client.get("/v1/me") for _ in range(5)]

    assert answers[0].headers["RateLimit-Policy"] == '"calls";q=2;w=2'
    assert [answer.status_code for answer in answers] == [200, 200, 429, 429, 429]


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/tasks/bulk"])
def test_refused_calls_have_one_line_with_the_ids_of_the_first(
    client, alpha, caplog, json_lines, monkeypatch, path
):
    monkeypatch.setattr(problems, "_pace", Pace())
    limit(alpha, stored_tasks=0)
    body = {"tasks": [daily(), daily()]} if "bulk" in path else daily()

    answer = client.post(path, body, idempotency_key="1")
    again = client.post(path, body, idempotency_key="2")

    assert [answer.status_code, again.status_code] == [429, 429], answer.json()
    facts = {"quota": "stored_tasks", "limit": 0, "used": 0}
    assert lines_of(caplog, "quota.refused") == [facts]
    [line] = [line for line in json_lines() if line["event"] == "quota.refused"]
    ids = {"tenant_id": str(alpha.id), "trace_id": answer.headers["X-Trace-Id"]}
    assert {**facts, **ids}.items() <= line.items()
