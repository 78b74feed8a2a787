from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from executions.exchange import (
    captured_response,
    is_secret_header,
    mask_headers,
    planned_request,
    sent_request,
    with_body,
)
from executions.models import Attempt, Execution
from tests.executions.answers import sealed_answer

AT = datetime(2026, 11, 20, 8, 0, 0, tzinfo=UTC)
ID = UUID("019a9f3c-8000-8123-8456-0123456789ab")
MASK = "[redacted]"
TARGET: dict[str, Any] = {
    "method": "POST",
    "url": "https://api.example.com/reports",
    "headers": {"X-Team": "billing", "X-Auth-Token": "t"},
}


@pytest.mark.parametrize(
    "name",
    [
        *("Authorization", "cookie", "Set-Cookie", "X-Api-Key", "apikey", "X-Access-Key-Id"),
        *("X-Auth-Token", "X-Auth", "X-Client-Secret", "X-Password", "X-Hub-Signature-256"),
        *("X-Credentials", "Private-Token", "X-Key"),
    ],
)
def test_headers_that_carry_secrets_are_known_by_their_names(name: str):
    assert is_secret_header(name)


@pytest.mark.parametrize(
    "name",
    ["Content-Type", "X-Team", "Retry-After", "X-Author", "Monkey", "Date", "WWW-Authenticate"],
)
def test_other_headers_are_shown(name: str):
    assert not is_secret_header(name)


def test_repeated_headers_are_joined_whatever_their_spelling():
    found = mask_headers([("X-A", "1"), ("Set-Cookie", "a"), ("x-a", "2"), ("set-cookie", "b")])

    assert found == {"X-A": "1, 2", "Set-Cookie": MASK}


def test_a_request_that_is_still_to_be_made_shows_what_is_known():
    assert planned_request(TARGET) == {
        "method": "POST",
        "url": "https://api.example.com/reports",
        "headers": {"X-Team": "billing", "X-Auth-Token": MASK},
    }


def sent(method: str = "POST", **parts: Any) -> dict[str, str]:
    execution = Execution(id=ID, task_id=UUID(int=2), scheduled_for=AT)
    facts = {"number": 2, "fencing_token": 77, "started_at": AT, "finished_at": AT}
    attempt = Attempt(execution_id=ID, **{**facts, **parts})
    headers: dict[str, str] = sent_request(TARGET | {"method": method}, execution, attempt)[
        "headers"
    ]
    return headers


def test_a_request_that_was_made_shows_its_headers_without_secrets():
    headers = sent()

    assert headers["webhook-id"] == headers["Idempotency-Key"] == str(ID)
    assert headers["webhook-timestamp"] == str(int(AT.timestamp()))
    assert headers["X-Scheduler-Attempt"] == "2"
    # It orders attempts and proves nothing, so it is no secret.
    assert headers["X-Scheduler-Fencing-Token"] == "77"
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Team"] == "billing"
    assert (headers["webhook-signature"], headers["X-Auth-Token"]) == (MASK, MASK)


def test_an_attempt_that_never_started_is_dated_by_its_end():
    assert sent(started_at=None)["webhook-timestamp"] == str(int(AT.timestamp()))


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_method_without_a_body_shows_none(method: str):
    assert "Content-Type" not in sent(method)
    assert with_body({"method": method}, {"n": 1})["body"] is None


def test_a_body_is_shown_as_it_is():
    assert with_body({"method": "POST"}, [1])["body"] == [1]


def test_a_captured_answer_shows_no_secrets():
    sealed = sealed_answer(ID, b"no", [["Set-Cookie", "s"], ["X-A", "1"]])
    attempt = Attempt(execution_id=ID, response_status=500, sealed_response=sealed)

    assert captured_response(attempt) == {
        "status": 500,
        "headers": {"Set-Cookie": MASK, "X-A": "1"},
        "body": "no",
        "truncated": False,
    }
    assert captured_response(Attempt(execution_id=ID)) is None
