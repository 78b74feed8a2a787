"""Each service's message leaves through the guard; every other way out is closed."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import socket
from typing import Any

import pytest

from delivery.http_messages import Request, Response
from notifications.transports import guarded_requests
from notifications.transports.chat import (
    SERVICES,
    ChatMessage,
    keeps_incidents,
    read_chat_url,
    send_chat,
    title_of,
)
from notifications.transports.errors import TransportError
from shared.addresses import UrlError
from tests.support.alert_channels import allow_loopback
from tests.support.http_receiver import http_receiver
from tests.support.syntax import parse

MESSAGE = ChatMessage("[acme] Final failure: nightly", "HTTP 503\nhttps://here/alerts/1", "a1")
_SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
_KEY = "a1b2c3d4-a1b2-a1b2-a1b2-a1b2c3d4e5f6"
#: URL -> the host that its message goes to.
EXAMPLES = {
    f"https://hooks.slack.com/services/{_SLACK.removeprefix('slack://')}": "hooks.slack.com",
    _SLACK: "hooks.slack.com",
    "slack://xoxb-1234-1234-4ddbc191d40ee098cbaae6f3523ada2d/#alerts": "slack.com",
    "https://discord.com/api/webhooks/0000000000/AAAAAAAAAAAAAAAAAAAAAAAA": "discord.com",
    "tgram://123456789:abcdefg_hijklmnop/12315544": "api.telegram.org",
    "https://prod-04.westus.logic.azure.com:443/workflows/643e69f83c8944438d68119179a10a64/triggers"
    "/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0"
    "&sig=KODuebWbDGYFr0z0eu": "prod-04.westus.logic.azure.com",
    "gchat://workspace/key/token": "chat.googleapis.com",
    "mmosts://chat.example.com/3ccdd113474722377935511fc85d3dd4": "chat.example.com",
    "rockets://hook/token@rocket.example.com": "rocket.example.com",
    f"webex://{'Y2lz' * 20}": "api.ciscospark.com",
    "zulip://bot@example/a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4/alerts": "example.zulipchat.com",
    "ntfys://ntfy.example.com/topic": "ntfy.example.com",
    "gotifys://gotify.example.com/aBcDeFgHiJkLmNo": "gotify.example.com",
    f"pover://{'a' * 30}@{'b' * 30}": "api.pushover.net",
    f"pagerduty://{'a' * 32}@{'b' * 20}/source/component": "events.pagerduty.com",
    f"opsgenie://{_KEY}": "api.opsgenie.com",
    f"victorops://routing@{_KEY}": "alert.victorops.com",
    "signl4://secretteam": "connect.signl4.com",
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Return the calls that reach our client, answered with what each service takes."""
    found: list[Request] = []

    def answer(request: Request, allow: object) -> Response:
        found.append(request)
        text = b'{"ok": true, "result": "success", "requestId": "x"}'
        body = b"ok" if request.url.host == "hooks.slack.com" else text
        return Response(200, [("content-type", "application/json")], body, False, {}, "203.0.113.1")

    def refuse(*args: object, **parts: object) -> None:
        raise AssertionError("a call beside our client")

    monkeypatch.setattr(guarded_requests, "call_once", answer)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return found


@pytest.mark.parametrize("url", EXAMPLES)
def test_a_message_is_one_call_to_the_service_by_our_client(calls: list[Request], url: str) -> None:
    read_chat_url(url)
    answer = send_chat(url, MESSAGE)

    [call] = calls
    assert (call.url.host, answer.status) == (EXAMPLES[url], 200)
    assert b"Final failure" in call.body or b"Final+failure" in call.body


def test_the_end_of_an_alert_resolves_its_incident(calls: list[Request]) -> None:
    url = f"pagerduty://{'a' * 32}@{'b' * 20}"

    send_chat(url, MESSAGE)
    send_chat(url, ChatMessage("Closed", "over", "a1", closing=True))

    first, last = (json.loads(call.body) for call in calls)
    assert (first["event_action"], last["event_action"]) == ("trigger", "resolve")
    assert first["dedup_key"] == last["dedup_key"] == "a1"


def test_every_service_is_bound_to_our_client_and_imports_no_other_way_out() -> None:
    """Read the library's own modules: a new version that opens sockets or files fails here."""
    quiet = {
        *("__future__", "base64", "binascii", "collections", "contextlib", "copy", "cryptography"),
        *("dataclasses", "datetime", "enum", "functools", "gzip", "hashlib", "hmac", "html", "io"),
        *("itertools", "json", "math", "os", "re", "requests", "time", "typing", "urllib.parse"),
        *("uuid", ".base", "..apprise_attachment", "..attachment.base", "..attachment.memory"),
        *("..common", "..conversion", "..exception", "..locale", "..url", "..utils.parse"),
        *("..utils.templates",),
    }
    for service in set(SERVICES.values()):
        read_chat_url_of(service.module)
        module = importlib.import_module(f"apprise.plugins.{service.module}")
        assert isinstance(module.requests, guarded_requests.GuardedRequests)
        assert roots(inspect.getsource(module)) <= quiet, service.module


def read_chat_url_of(module: str) -> None:
    scheme = next(one for one, service in SERVICES.items() if service.module == module)
    with pytest.raises(UrlError):
        read_chat_url(f"{scheme}://host/a/b/c/d?template=/etc/passwd")


def roots(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            within = node.level > 0 or module.startswith("urllib")
            found.add("." * node.level + module if within else module.split(".")[0])
    return found


@pytest.mark.parametrize(
    ("url", "code"),
    [
        *((f"{one}://host/x", "service_unknown") for one in ("json", "mailto", "file", "syslog")),
        *((f"{one}://", "service_unknown") for one in ("dbus", "gnome", "windows", "http", "")),
        ("nonsense", "service_unknown"),
        (f"{_SLACK}?template=/etc/passwd", "url_invalid"),
        (f"{_SLACK}?retry=5", "url_invalid"),
        (f"{_SLACK}?overflow=split", "url_invalid"),
        ("ntfys://ntfy.example.com/one/two", "url_invalid"),
        ("ntfys://ntfy.example.com/one?+X-Header=1", "url_invalid"),
        ("slack://short", "url_invalid"),
        ("ntfys://ntfy.example.com/a b", "url_invalid"),
        (f"ntfys://ntfy.example.com/{'a' * 2100}", "url_invalid"),
        ("ntfys://10.0.0.1/topic", "address_forbidden"),
        ("gotify://127.0.0.1/token", "address_forbidden"),
        ("ntfys://ntfy.example.com:22/topic", "port_forbidden"),
    ],
)
def test_what_cannot_be_confined_is_refused(url: str, code: str) -> None:
    with pytest.raises(UrlError) as caught:
        read_chat_url(url)

    assert caught.value.code == code


def test_what_may_be_shown_has_no_token() -> None:
    assert read_chat_url(_SLACK).host == ""
    found = read_chat_url("ntfys://user:pass@ntfy.example.com/topic")
    assert (found.service, found.host) == ("ntfys", "ntfy.example.com")


def test_a_real_receiver_gets_the_message_and_its_answer_is_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as receiver:
        receiver.body = b"taken for topic-of-ours"
        answer = send_chat(f"ntfy://127.0.0.1:{receiver.port}/topic-of-ours", MESSAGE)

    assert json.loads(receiver.requests[0].body)["title"] == MESSAGE.title
    assert (answer.status, answer.text) == (200, "taken for [redacted]")


@pytest.mark.parametrize(("status", "permanent"), [(403, True), (429, False), (500, False)])
def test_a_refusal_shows_the_real_answer(
    monkeypatch: pytest.MonkeyPatch, status: int, permanent: bool
) -> None:
    allow_loopback(monkeypatch)
    with http_receiver() as receiver:
        receiver.status, receiver.body = status, b"no such our-topic"
        with pytest.raises(TransportError) as caught:
            send_chat(f"ntfy://127.0.0.1:{receiver.port}/our-topic", MESSAGE)

    assert len(receiver.requests) == 1
    assert caught.value.permanent is permanent
    assert caught.value.answer is not None
    assert (caught.value.answer.status, caught.value.answer.text) == (status, "no such [redacted]")


def test_a_name_that_leads_to_a_private_address_is_never_called() -> None:
    with http_receiver() as receiver, pytest.raises(TransportError) as caught:
        send_chat(f"ntfy://localhost:{receiver.port}/topic", MESSAGE)

    assert receiver.requests == []
    assert caught.value.permanent


def test_a_service_that_makes_no_call_has_not_taken_the_message(
    monkeypatch: pytest.MonkeyPatch, calls: list[Request]
) -> None:
    module: Any = importlib.import_module("apprise.plugins.ntfy")
    monkeypatch.setattr(module.NotifyNtfy, "send", lambda *args, **parts: True)

    with pytest.raises(TransportError, match="made no call"):
        send_chat("ntfys://ntfy.example.com/topic", MESSAGE)

    assert calls == []


def test_the_first_refusal_decides_also_where_a_service_signs_out_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter((200, 503, 200))

    def answer(request: Request, allow: object) -> Response:
        body = b'{"status": "success", "data": {"authToken": "x", "userId": "y"}}'
        return Response(next(answers), [], body, False, {}, "203.0.113.1")

    monkeypatch.setattr(guarded_requests, "call_once", answer)
    with pytest.raises(TransportError) as caught:
        send_chat("rockets://user:password@rocket.example.com/room", MESSAGE)

    assert list(answers) == []
    assert caught.value.answer is not None
    assert (caught.value.answer.status, caught.value.permanent) == (503, False)


def test_a_service_that_wants_fewer_messages_holds_no_sender_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Request] = []

    def answer(request: Request, allow: object) -> Response:
        asked.append(request)
        later = [
            *(("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "4102444800")),
            ("retry-after", "60"),
        ]
        return Response(429, later, b"{}", False, {}, "203.0.113.1")

    def sleep(seconds: float) -> None:
        raise AssertionError("a sender sleeps")

    monkeypatch.setattr(guarded_requests, "call_once", answer)
    monkeypatch.setattr("apprise.url.time.sleep", sleep)
    with pytest.raises(TransportError) as caught:
        send_chat("https://discord.com/api/webhooks/0000000000/AAAAAAAAAAAAAAAAAAAAAAAA", MESSAGE)

    assert len(asked) == 1
    assert (caught.value.permanent, caught.value.retry_after) == (False, 60.0)


def test_a_url_that_the_library_stumbles_over_is_a_clear_error_without_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stumble(url: str) -> None:
        raise KeyError(url)

    read_chat_url(_SLACK)
    module: Any = importlib.import_module("apprise.plugins.slack")
    monkeypatch.setattr(module.NotifySlack, "parse_url", stumble)

    with pytest.raises(UrlError) as caught:
        read_chat_url(_SLACK)

    assert caught.value.message == "Slack does not take this URL."


def test_services_have_names_and_paging_ones_keep_incidents() -> None:
    assert [title_of(one) for one in ("slack", "webhook")] == ["Slack", "Webhook"]
    assert keeps_incidents("pagerduty")
    assert not keeps_incidents("slack")
    assert not keeps_incidents("webhook")
