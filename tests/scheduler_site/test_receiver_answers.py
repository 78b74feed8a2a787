from __future__ import annotations

import json

import pytest

from scheduler_site import receiver_answers
from scheduler_site.receiver_answers import Answer, Answers, Request, answer_json, render


def get(target: str, *, webhook_id: str = "", answers: Answers | None = None) -> Answer:
    headers = (("webhook-id", webhook_id),) if webhook_id else ()
    return (answers or Answers()).answer(Request("POST", target, headers))


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/", 200),
        ("/ok", 200),
        ("/slow?ms=5", 200),
        ("/500", 500),
        ("/status/418", 418),
        ("/429", 429),
        ("/redirect?to=/ok", 302),
        ("/redirect?to=/ok&status=307", 307),
        ("/drip", 200),
        ("/unknown", 404),
        ("/timeout", None),
    ],
)
def test_every_path_answers_as_it_says(target: str, status: int | None):
    assert get(target).status == status


@pytest.mark.parametrize(
    "target",
    [
        "/slow?ms=-1",
        "/slow?ms=abc",
        "/slow?ms=99999999999999999999",
        "/status/100",
        "/status/600",
        "/status/",
        "/flaky?fail=x",
        "/flaky?status=200",
        "/redirect?to=%0d%0aSet-Cookie:x",
        "/redirect?to=/%C3%A9",
        "/slow?" + "&".join(["ms=1"] * 30),
    ],
)
def test_useless_queries_are_refused_with_the_reason(target: str):
    answer = get(target)

    assert answer.status == 400
    assert json.loads(answer.body)["error"]


def test_slow_waits_as_long_as_asked():
    assert get("/slow?ms=1500").delay_ms == 1500


def test_too_many_requests_names_when_to_come_back():
    assert ("Retry-After", "1") in get("/429").headers
    assert ("Retry-After", "7") in get("/429?after=7").headers


def test_flaky_fails_so_often_per_webhook_id_and_then_succeeds():
    answers = Answers()

    first = [get("/flaky?fail=3", webhook_id="a", answers=answers).status for _ in range(5)]
    other = get("/flaky?fail=3&status=503", webhook_id="b", answers=answers).status

    assert first == [500, 500, 500, 200, 200]
    assert other == 503


def test_flaky_forgets_the_oldest_webhook_ids(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_answers, "MAX_COUNTED_IDS", 2)
    answers = Answers()

    for webhook_id in ("a", "b", "c"):
        get("/flaky?fail=1", webhook_id=webhook_id, answers=answers)

    assert get("/flaky?fail=1", webhook_id="c", answers=answers).status == 200
    assert get("/flaky?fail=1", webhook_id="a", answers=answers).status == 500


def test_echo_answers_the_request():
    request = Request("PUT", "/echo?a=1", (("x-team", "billing"),), b'{"a": 1}')

    found = json.loads(Answers().answer(request).body)

    assert found == {
        "method": "PUT",
        "target": "/echo?a=1",
        "headers": {"x-team": "billing"},
        "body": '{"a": 1}',
    }


def test_the_last_of_repeated_headers_and_query_values_counts():
    request = Request("GET", "/ok?a=1&a=2", (("x", "1"), ("x", "2")))

    assert request.query == {"a": "2"}
    assert request.header("x") == "2"
    assert request.header("y") is None


def test_rendered_answers_carry_length_and_connection():
    head, body = render(answer_json(200, {}), keep_alive=True, head_only=False)

    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 2\r\n" in head
    assert b"Connection: keep-alive\r\n" in head
    assert body == b"{}"


def test_no_content_and_head_answers_have_no_body():
    no_content = render(Answer(204, b"x"), keep_alive=False, head_only=False)
    to_head = render(answer_json(299, {}), keep_alive=False, head_only=True)

    assert b"Content-Length" not in no_content[0]
    assert no_content[1] == b""
    assert to_head[1] == b""
    assert b"Content-Length: 2" in to_head[0]
