from __future__ import annotations

import json

import pytest

from receiver import answers as receiver_answers
from receiver.answers import Answers
from receiver.messages import Answer, Request


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
        ("/huge?bytes=10", 200),
        ("/gzip-bomb?bytes=10", 200),
        ("/verify?secret=whsec_AAAA", 401),
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
        "/huge?framing=x",
        "/huge?bytes=100000000001",
        "/gzip-bomb?bytes=-1",
        "/verify",
        "/verify?secret=whsec_?",
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


def test_echo_gives_back_no_secret_since_its_answer_is_kept_for_all_who_may_read():
    headers = (
        ("authorization", "Bearer v3ry"),
        ("cookie", "a=v3ry"),
        ("x-execution-token", "7.v3ry"),
        ("x-passphrase", "v3ry"),
        ("webhook-signature", "v1,abc"),
    )
    request = Request("POST", "/echo?api_key=v3ry&a=1&sig=v3ry&b=whsec_v3ry", headers, b"{}")

    answer = Answers().answer(request).body

    assert b"v3ry" not in answer
    found = json.loads(answer)
    assert found["target"] == "/echo?api_key=hidden&a=1&sig=hidden&b=hidden"
    assert found["headers"]["webhook-signature"] == "v1,abc"


def test_the_help_names_every_path():
    paths = {"/500", *receiver_answers._PATHS} - {"/"}

    assert all(path in receiver_answers.HELP for path in paths)
