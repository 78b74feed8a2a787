from __future__ import annotations

import pytest

from executions.models import Attempt, DeadLetter, Execution
from tasks.models import Task
from tenants.models import Tenant
from tests.executions.answers import sealed_answer
from tests.factories import (
    ApiClient,
    finish,
    make_dead_letter,
    make_execution,
    once,
    release,
    spoil,
    start,
)

URL = "/v1/dlq"


def test_what_no_key_opens_is_said_in_lists_and_single_views_and_hides_nothing_else(
    client: ApiClient, alpha: Tenant
):
    whole = make_dead_letter(alpha, once(payload="whole"))
    spoiled = make_dead_letter(alpha, once(payload="spoiled"))
    spoil(Task.objects.get(pk=spoiled.task_id))
    Attempt.objects.filter(execution_id=spoiled.execution_id).update(sealed_response=b"\x01")

    listed = {one["id"]: one for one in client.get(URL).json()["dead_letters"]}
    letter = client.get(f"{URL}/{spoiled.id}").json()
    execution = client.get(f"/v1/executions/{spoiled.execution_id}").json()
    retried = client.post(f"{URL}/{spoiled.id}/retry", idempotency_key="r")

    assert (listed[str(whole.id)]["payload"], "missing" in listed[str(whole.id)]) == (
        "whole",
        False,
    )
    assert listed[str(spoiled.id)]["payload"] is None
    for shown in (listed[str(spoiled.id)], letter, execution):
        assert "ENCRYPTION_KEYS" in shown["missing"]
    assert "cannot be opened" in letter["last_response"]["body"]
    assert (execution["request"]["body"], execution["status"]) == (None, "FAILED")
    assert (retried.status_code, retried.json()["code"]) == (409, "decryption_failed")
    assert not DeadLetter.objects.get(pk=spoiled.pk).resolved


def test_the_snapshot_of_a_reference_is_what_was_sent_and_is_sent_again(
    client: ApiClient, alpha: Tenant
):
    body = once(payload=None, payload_ref="s3://bucket/key")
    letter = make_dead_letter(alpha, body)

    shown = client.get(f"{URL}/{letter.id}").json()
    made = client.post(f"{URL}/{letter.id}/retry", idempotency_key="r").json()
    execution = client.get(f"/v1/executions/{made['id']}").json()

    sent = {"payload_ref": "s3://bucket/key"}
    assert shown["payload"] == sent
    assert execution["request"]["body"] == sent


def test_a_letter_shows_payload_last_response_and_every_attempt(client: ApiClient, alpha: Tenant):
    target = {"url": "https://api.example.com/reports", "headers": {"Authorization": "Basic eDp5"}}
    execution = make_execution(alpha, body=once(target=target))
    (row,) = release()
    start([row])
    finish(row, "RETRYING", sealed_response=sealed_answer(execution.id, b"busy"))
    (row,) = release()
    start([row])
    finish(
        row,
        "FAILED",
        reason="attempts_exhausted",
        outcome="TIMED_OUT",
        error_code="timeout_total",
        response_status=None,
    )
    letter = DeadLetter.objects.get()

    shown = client.get(f"{URL}/{letter.id}").json()

    assert shown["payload"] == {"n": 1}
    assert [attempt["outcome"] for attempt in shown["attempts"]] == ["FAILED", "TIMED_OUT"]
    first, second = shown["attempts"]
    assert (first["response"]["body"], second["response"]) == ("busy", None)
    assert second["request"]["headers"]["Authorization"] == "[redacted]"
    assert second["request"]["headers"]["X-Scheduler-Attempt"] == "2"
    # The last answer that there was: the attempt after it got none.
    assert (shown["last_response"]["status"], shown["last_response"]["body"]) == (500, "busy")
    assert (shown["error_signature"], shown["edit"]) == ("timeout_total", None)


@pytest.mark.parametrize("payload", [{"n": 2}, None])
def test_a_retried_letter_keeps_the_payload_and_its_edit(
    client: ApiClient, alpha: Tenant, payload: object
):
    letter = make_dead_letter(alpha)
    made = client.post(f"{URL}/{letter.id}/retry", {"payload": payload}, idempotency_key="1")

    shown = client.get(f"{URL}/{letter.id}").json()

    assert (shown["payload"], shown["edit"]) == ({"n": 1}, {"payload": payload})
    assert shown["retry_execution_id"] == made.json()["id"]
    assert (shown["resolved"], shown["resolution"]) == (True, "retried")


def test_the_snapshot_stays_what_was_sent_when_the_task_changes(client: ApiClient, alpha: Tenant):
    letter = make_dead_letter(alpha)
    edited = client.patch(f"/v1/tasks/{letter.task_id}", {"payload": {"n": 99}})
    assert edited.status_code == 200, edited.content

    assert client.get(f"{URL}/{letter.id}").json()["payload"] == {"n": 1}


def test_the_payload_of_an_override_is_its_own_snapshot(client: ApiClient, alpha: Tenant):
    first = make_dead_letter(alpha)
    made = client.post(f"{URL}/{first.id}/retry", {"payload": "edited"}, idempotency_key="1").json()
    (row,) = release()
    start([row])
    finish(row, "FAILED")
    second = DeadLetter.objects.get(execution_id=made["id"])
    Execution.objects.filter(pk=made["id"]).delete()

    shown = client.get(f"{URL}/{second.id}").json()

    assert shown["payload"] == "edited"
