from __future__ import annotations

import base64

import pytest

from executions.models import Attempt
from shared.encryption import seal_json
from tests.factories import daily, finish, make_execution, make_task, once, release, start
from tests.support.command_calls import call
from tests.support.command_documents import read_document

TARGET = {"url": "https://example.com/run", "headers": {"Authorization": "Bearer hidden"}}


def _list(*words: str) -> list[dict]:
    found = read_document("executions-list", call("executions", "list", *words, "--json").out)
    executions: list[dict] = found["executions"]
    return executions


@pytest.fixture
def failed(alpha):
    """Return an execution that failed once, with a captured answer."""
    execution = make_execution(alpha, "PENDING", once(name="Invoices", target=TARGET))
    claimed = release()
    start(claimed)
    finish(claimed[0], "FAILED", reason="attempts_exhausted")
    answer = {
        "headers": [("Content-Type", "text/plain"), ("Set-Cookie", "hidden")],
        "body": base64.b64encode(b"first\nsecond").decode(),
        "truncated": True,
    }
    sealed = seal_json(answer, f"response:{execution.id}".encode())
    Attempt.objects.update(sealed_response=sealed, timings={"dns": 1.25, "total": 20.5})
    execution.refresh_from_db()
    return execution


def test_list_filters_by_tenant_state_task_and_text(alpha, beta, failed):
    waiting = make_execution(beta, "PENDING", once(name="Reports"))

    assert [found["id"] for found in _list()] == [str(waiting.id), str(failed.id)]
    assert [found["id"] for found in _list("--tenant", "Alpha")] == [str(failed.id)]
    assert [found["id"] for found in _list("--status", "PENDING", "QUEUED")] == [str(waiting.id)]
    assert [found["id"] for found in _list("--task", str(failed.task_id)[-12:])] == [str(failed.id)]
    assert [found["id"] for found in _list("--q", "invo")] == [str(failed.id)]
    assert _list()[0]["tenant_id"] == str(beta.id)


def test_list_reads_a_window_of_time(alpha, failed):
    assert _list("--since", "1h") != []
    assert _list("--until", "1h") == []
    assert _list("--since", "2020-01-01T00:00:00Z", "--until", "now") != []
    assert call("executions", "list", "--since", "1h", "--until", "2h").code == 2
    assert call("executions", "list", "--since", "someday").code == 2


def test_list_fits_80_columns_and_shows_full_ids_when_asked(alpha):
    execution = make_execution(alpha, "FAILED", once(name="x" * 200))

    assert all(len(line) <= 80 for line in call("executions", "list").out.splitlines())
    assert str(execution.id) in call("executions", "list", "--wide").out


def test_list_says_when_there_is_more(alpha, failed):
    make_execution(alpha, "PENDING")

    said = call("executions", "list", "--limit", "1", "--json")

    assert read_document("executions-list", said.out)["more"] is True
    assert said.err.startswith("the newest 1;")
    assert call("executions", "list", "--limit", "2").err == ""


@pytest.mark.parametrize("words", [("--tenant", "Nobody"), ("--task", "0" * 12)])
def test_a_filter_that_names_nothing_exits_with_3(alpha, words):
    assert call("executions", "list", *words).code == 3


def test_show_tells_what_happened(failed):
    text = call("executions", "show", str(failed.id)[-12:]).out
    document = read_document(
        "executions-show", call("executions", "show", str(failed.id), "--json").out
    )

    assert text.startswith("status    FAILED\n")
    assert "error     http_status: The answer was 500." in text
    assert "attempt   1: FAILED 500 http_status" in text
    assert document["id"] == str(failed.id)
    assert ">" not in text


def test_show_http_prints_the_exchange_with_secrets_masked(failed):
    text = call("executions", "show", str(failed.id), "--http").out

    assert "> POST https://example.com/run" in text
    assert "> Authorization: [redacted]" in text
    assert '> {"n":1}' in text
    assert "< 500\n< Content-Type: text/plain\n< Set-Cookie: [redacted]\n" in text
    assert "< first\n< second\n< … (not all of it)\n" in text
    assert "timings: dns 1.2 ms · whole call 20 ms" in text
    assert "hidden" not in text


def test_show_of_what_was_not_sent_yet_says_what_it_waits_for(alpha):
    execution = make_execution(alpha)

    text = call("executions", "show", str(execution.id), "--http").out

    assert "waits     " in text
    assert "--- not sent yet\n> POST " in text


def test_an_attempt_without_an_answer_says_so(alpha):
    execution = make_execution(alpha, "FAILED")

    assert "< no answer was captured" in call("executions", "show", str(execution.id), "--http").out


def test_show_of_an_unknown_execution_exits_with_3(alpha, beta, failed):
    make_task(alpha, daily())

    assert call("executions", "show", "0" * 12).code == 3
    assert call("executions", "show", str(failed.id), "--tenant", "Beta").code == 3
