from __future__ import annotations

from datetime import UTC, datetime

import pytest

from executions.delivery.errors import DeliveryError
from executions.delivery.http_messages import Response
from executions.delivery.outcome import classify, parse_retry_after

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
DEFAULT_RETRY_ON = ("5xx", "408", "425", "429", "timeout", "connection")


def _judge(result, *, success=("2xx",), retry_on=DEFAULT_RETRY_ON):
    return classify(result, success_statuses=success, retry_on=retry_on, now=NOW)


def _answer(status, headers=()):
    return Response(status, list(headers), b"", False, {}, "192.0.2.1")


@pytest.mark.parametrize(
    ("status", "kind", "code"),
    [
        *((200, "success", None), (204, "success", None), (299, "success", None)),
        *((300, "permanent", "redirect_forbidden"), (301, "permanent", "redirect_forbidden")),
        *((302, "permanent", "redirect_forbidden"), (308, "permanent", "redirect_forbidden")),
        *((304, "permanent", "http_status"), (400, "permanent", "http_status")),
        *((401, "permanent", "http_status"), (404, "permanent", "http_status")),
        *((408, "retryable", "http_status"), (410, "permanent", "http_status")),
        *((425, "retryable", "http_status"), (429, "retryable", "http_status")),
        *((500, "retryable", "http_status"), (503, "retryable", "http_status")),
        (599, "retryable", "http_status"),
    ],
)
def test_status_decides_with_the_default_policy(status, kind, code):
    outcome = _judge(_answer(status))

    assert (outcome.kind, outcome.error_code, outcome.status) == (kind, code, status)
    assert outcome.outcome == ("SUCCEEDED" if kind == "success" else "FAILED")


@pytest.mark.parametrize(
    ("code", "kind", "word"),
    [
        *(
            ("timeout_connect", "retryable", "TIMED_OUT"),
            ("timeout_total", "retryable", "TIMED_OUT"),
        ),
        *(("dns_failed", "retryable", "FAILED"), ("connection_refused", "retryable", "FAILED")),
        *(("connection_reset", "retryable", "FAILED"), ("tls_failed", "retryable", "FAILED")),
        *(("response_invalid", "retryable", "FAILED"), ("internal", "retryable", "FAILED")),
        *(
            ("address_forbidden", "permanent", "FAILED"),
            ("redirect_forbidden", "permanent", "FAILED"),
        ),
    ],
)
def test_error_decides_with_the_default_policy(code, kind, word):
    outcome = _judge(DeliveryError(code, "why"))

    assert (outcome.kind, outcome.outcome) == (kind, word)
    assert (outcome.error_code, outcome.error_message, outcome.status) == (code, "why", None)


@pytest.mark.parametrize(
    ("retry_on", "code", "kind"),
    [
        *((("timeout",), "timeout_total", "retryable"), (("timeout",), "dns_failed", "permanent")),
        *((("connection",), "tls_failed", "retryable"), (("5xx",), "timeout_connect", "permanent")),
        *(((), "connection_reset", "permanent"), ((), "internal", "retryable")),
        (("connection", "timeout"), "address_forbidden", "permanent"),
    ],
)
def test_policy_decides_which_errors_are_retried(retry_on, code, kind):
    assert _judge(DeliveryError(code, "why"), retry_on=retry_on).kind == kind


@pytest.mark.parametrize(
    ("success", "retry_on", "status", "kind"),
    [
        *((("200",), ("5xx",), 204, "permanent"), (("200", "404"), (), 404, "success")),
        *((("200-204",), (), 204, "success"), (("2xx",), ("404",), 404, "retryable")),
        *((("2xx", "410"), (), 410, "success"), (("2xx",), ("4xx",), 410, "permanent")),
        *((("3xx",), (), 302, "success"), (("2xx",), ("3xx",), 302, "permanent")),
        *((("200",), ("2xx",), 202, "retryable"), ((), ("5xx",), 200, "permanent")),
    ],
)
def test_patterns_of_the_task_decide(success, retry_on, status, kind):
    assert _judge(_answer(status), success=success, retry_on=retry_on).kind == kind


def test_unknown_word_is_an_error_and_not_a_silent_no():
    with pytest.raises(ValueError, match="nonsense"):
        _judge(_answer(500), retry_on=("nonsense",))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        *(("5", 5), ("0", 0), ("-1", 0), ("+7", 7), (" 12 ", 12), ("86401", 86400)),
        *(("1000000000000", 86400), ("9" * 5000, 86400), ("-" + "9" * 5000, 0)),
        *(("Fri, 20 Nov 2026 08:01:30 GMT", 90), ("Fri, 20 Nov 2026 07:00:00 GMT", 0)),
        *(("Fri Nov 20 08:00:10 2026", 10), ("Fri, 20 Nov 2026 09:00:20 +0100", 20)),
        *(("Fri, 31 Dec 9999 23:59:59 GMT", 86400), ("", None), ("soon", None), ("1.5", None)),
        *(("0x10", None), ("٣", None), ("Fri, 99 Nov 2026 08:00:00 GMT", None), ("5, 6", None)),
        *(("Fri, 20 Nov 99999 08:00:00 GMT", None), ("\x00", None), (",", None)),
    ],
)
def test_retry_after_is_read_and_clamped(value, seconds):
    assert parse_retry_after(value, NOW) == seconds


def test_retry_after_of_an_answer_is_kept_for_the_retry():
    outcome = _judge(_answer(503, [("Server", "x"), ("RETRY-AFTER", "30"), ("Retry-After", "9")]))

    assert outcome.retry_after_seconds == 30


def test_retry_after_of_a_final_answer_means_nothing():
    assert _judge(_answer(404, [("Retry-After", "30")])).retry_after_seconds is None
