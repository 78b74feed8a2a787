"""A signal releases the steps that wait for it."""

from __future__ import annotations

import pytest

from events.models import AuditEntry
from tests.support.recounting import recounts
from tests.support.runs_api import pointers, post
from tests.support.workflows import begin_run, go_on, make_workflow, states


@pytest.fixture
def run(alpha):
    step = {"key": "wait", "kind": "wait_for_event", "event": "paid", "correlation": "order-17"}
    return begin_run(make_workflow(alpha, [step]))


@recounts("signal.released")
def test_a_signal_is_sent_and_audited(client, run):
    body = {"name": "paid", "correlation": "order-17", "payload": {"amount": 20}}

    answer = post(client, "/v1/signals", body)

    assert answer.status_code == 202, answer.content
    sent = answer.json()
    assert (sent["name"], sent["correlation"], sent["released"]) == ("paid", "order-17", 1)
    go_on(run)
    assert states(run) == {"wait": "SUCCEEDED"}
    [entry] = AuditEntry.objects.filter(action="signal.sent")
    assert entry.object_id == sent["id"]


def test_a_signal_that_no_step_waits_for_is_kept(client, run):
    answer = post(client, "/v1/signals", {"name": "paid"})

    assert (answer.status_code, answer.json()["released"]) == (202, 0)


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, ("#/name", "required")),
        ({"name": ""}, ("#/name", "blank")),
        ({"name": "x" * 201}, ("#/name", "max_length")),
        ({"name": "paid", "correlation": 5}, ("#/correlation", "invalid_type")),
        ({"name": "paid", "other": 1}, ("#/other", "unknown_field")),
        ({"name": "pa\x00id"}, ("#/name", "text_invalid")),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(client, run, body, at):
    answer = post(client, "/v1/signals", body)

    assert pointers(answer) == {at}
    go_on(run)
    assert states(run) == {"wait": "OPEN"}
