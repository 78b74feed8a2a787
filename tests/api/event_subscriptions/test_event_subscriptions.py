from __future__ import annotations

import pytest

from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from tests.executions.answers import problem

URL = "/v1/event-subscriptions"
BODY = {"url": "https://events.example.com/token", "types": ["execution.failed"]}


@pytest.fixture(autouse=True)
def _days(db: None) -> None:
    ledger.ensure_days_ahead(database_now())


def test_a_subscription_is_made_changed_redriven_and_removed(owner):
    made = owner.post(URL, {**BODY, "filter": {"labels": {"team": "billing"}}})
    assert made.status_code == 201
    path = made["Location"]
    shown = made.json()
    assert (shown["origin"], shown["status"]) == ("https://events.example.com", "ACTIVE")
    assert "token" not in made.content.decode()
    assert owner.get(path).json() == shown
    assert owner.get(URL).json()["event_subscriptions"] == [shown]

    paused = owner.patch(path, {"status": "PAUSED", "types": ["task.changed"]})
    assert (paused.json()["paused_reason"], paused.json()["types"]) == (
        "requested",
        ["task.changed"],
    )
    assert problem(owner.patch(path, {}, if_match='"1"')) == (412, "version_mismatch")
    resumed = owner.post(f"{path}/redrive", {"after": shown["after"]}).json()
    assert (resumed["status"], resumed["paused_reason"]) == ("ACTIVE", None)

    assert owner.delete(path).status_code == 204
    assert problem(owner.get(path)) == (404, "not_found")


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"url": "https://a.example.com/"},
        {**BODY, "url": "http://127.0.0.1/"},
        {**BODY, "url": "x" * 2049},
        {**BODY, "url": "https://a.example.com/\x00"},
        {**BODY, "types": []},
        {**BODY, "types": ["execution.exploded"]},
        {**BODY, "filter": {"task_ids": ["00000000-0000-4000-8000-000000000001"]}},
        {**BODY, "secret": "x"},
    ],
)
def test_bad_input_is_refused(owner, wrong):
    assert owner.post(URL, wrong).status_code == 400


def test_a_redrive_needs_a_place(owner):
    path = owner.post(URL, BODY).json()["id"]

    for wrong in (
        {},
        {"after": "x"},
        {"since": "soon"},
        {"since": "2026-01-01T00:00:00Z", "after": "x"},
    ):
        assert owner.post(f"{URL}/{path}/redrive", wrong).status_code == 400
