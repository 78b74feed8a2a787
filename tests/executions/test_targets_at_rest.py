"""Canaries in URLs and arguments, through everything that is stored, sent or logged of a task."""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson
import pytest

from executions.models import BulkJob, Execution
from tasks.definition import WEBHOOK_POOL, WORKFLOW_POOL
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.executions.bulk.bulk import counts, let_time_pass, run_job
from tests.factories import ApiClient, finish, make_task, once, prepare, release, start
from tests.support.api import make_client
from tests.support.places import clear_places_of, in_redis, places_of
from tests.support.workflows import begin_run, calls, make_workflow
from wire import messages

pytestmark = pytest.mark.django_db
PATH, QUERY, FRAGMENT = "canary-path-3d1", "canary-query-3d1", "canary-fragment-3d1"
ARGUMENT, VARIABLE = "canary-argument-3d1", "canary-variable-3d1"
CANARIES = (PATH, QUERY, FRAGMENT, ARGUMENT, VARIABLE)
URL = f"https://api.example.com:8443/{PATH}?token={QUERY}#{FRAGMENT}"
FAR = {"run_at": "2198-01-01T00:00:00Z"}
COMMAND = {
    "kind": "command",
    "command": "load",
    "arguments": ["--key", ARGUMENT],
    "environment": {"KEY": VARIABLE},
}


@pytest.fixture(autouse=True)
def _commands(settings: Any) -> None:
    settings.PUNCTUAL = dataclasses.replace(
        settings.PUNCTUAL,
        allowed_commands={"load": "/usr/bin/true"},
        command_variables={"load": ("KEY",)},
    )


@pytest.fixture
def client(alpha: Tenant) -> ApiClient:
    return make_client(alpha)


def create(client: ApiClient, target: dict[str, Any], **parts: Any) -> Any:
    key = str(target["kind"]) + str(parts)
    made = client.post("/v1/tasks", once(target=target, **parts), idempotency_key=key)
    assert made.status_code == 201, made.content
    return made.json()


def dispatched() -> bytes:
    """Return the message of all work that is due, as it travels."""
    prepare()
    # What is in a message does not depend on the pool.
    Execution.objects.exclude(pool=WORKFLOW_POOL).update(pool=WEBHOOK_POOL)
    claimed = release()
    secrets = active_signing_secrets(row.tenant_id for row in claimed)
    return orjson.dumps(messages.encode(claimed, 0, "life", secrets, 0.0))


def test_no_part_of_a_url_but_its_origin_and_no_argument_is_stored_sent_or_logged_in_clear(
    client: ApiClient, alpha: Tenant, caplog: pytest.LogCaptureFixture
):
    hook = create(client, {"kind": "webhook", "url": URL})
    program = create(client, COMMAND)
    nameless = once(target={"kind": "webhook", "url": URL})
    del nameless["name"]
    assert client.post("/v1/tasks", nameless, idempotency_key="nameless").status_code == 201
    edited = client.patch(f"/v1/tasks/{hook['id']}", {"target": {"url": URL + FRAGMENT}})
    assert edited.status_code == 200, edited.content
    begin_run(make_workflow(alpha, [{**calls("a"), "target": {"url": URL + "{{ run.id }}"}}]))
    sent = dispatched()

    assert hook["id"].encode() in sent
    assert program["id"].encode() in sent
    for canary in CANARIES:
        assert places_of(canary)
        assert clear_places_of(canary) == set(), canary
        assert in_redis(canary) == []
        assert canary.encode() not in sent
        assert canary not in caplog.text
    assert client.get(f"/v1/tasks/{hook['id']}").json()["target"]["url"] == URL + FRAGMENT
    assert client.get(f"/v1/tasks/{program['id']}").json()["target"]["arguments"] == [
        "--key",
        ARGUMENT,
    ]


def test_bulk_jobs_dead_letters_and_the_audit_log_have_none_of_it(client: ApiClient, alpha: Tenant):
    task = create(client, {"kind": "webhook", "url": URL})
    prepare()
    for row in release():
        start([row])
        finish(row, "FAILED", reason="attempts_exhausted")
    other = make_task(alpha, once(target={"url": URL}, schedule=FAR))
    patch = {"target": {"url": f"https://b.example.com/{PATH}?token={QUERY}"}}
    body = {"action": "set", "filter": {"ids": [str(other.id)]}, "set": patch}
    made = client.post("/v1/tasks/actions", body, idempotency_key="set")
    assert made.status_code == 202, made.content
    job = BulkJob.objects.get()

    assert client.get(f"/v1/bulk-jobs/{job.id}").json()["options"]["set"] == patch
    # The clock of the web's session goes on; that of the test's stands still.
    let_time_pass(job)
    run_job(job)
    assert counts(job) == (1, 0, 0)
    assert client.get(f"/v1/tasks/{other.id}").json()["target"]["url"] == patch["target"]["url"]
    assert client.get(f"/v1/tasks/{task['id']}").json()["target"]["url"] == URL
    for canary in CANARIES:
        assert clear_places_of(canary) == set(), canary
