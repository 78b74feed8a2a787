from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from delivery.errors import DeliveryError
from delivery.http_messages import Response
from delivery.outcome import Outcome, classify, decide, read_terms
from wire.retry import Ended

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
DEFAULT_RETRY_ON = ("5xx", "408", "425", "429", "timeout", "connection")


def _judge(result, *, success=("2xx",), completion="response", criteria=None, **policy):
    target = {"success": {"statuses": success, **(criteria or {})}, "completion": completion}
    return classify(result, read_terms(target, {"retry_on": DEFAULT_RETRY_ON, **policy}), NOW)


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


def test_retry_after_of_an_answer_is_kept_for_the_retry():
    outcome = _judge(_answer(503, [("Server", "x"), ("RETRY-AFTER", "30"), ("Retry-After", "9")]))

    assert outcome.retry_after_seconds == 30


def test_retry_after_of_a_final_answer_means_nothing():
    assert _judge(_answer(404, [("Retry-After", "30")])).retry_after_seconds is None


def test_202_goes_on_where_the_job_is_ended_by_a_call():
    accepted = _judge(_answer(202), completion="callback", success=("200",))

    assert (accepted.kind, accepted.status) == ("accepted", 202)
    assert _judge(_answer(200), completion="callback").kind == "success"
    assert _judge(_answer(503), completion="callback").kind == "retryable"
    assert _judge(_answer(202)).kind == "success"


@pytest.mark.parametrize(
    ("policy", "status", "headers", "kind"),
    [
        ({}, 200, [], "retryable"),
        ({"stop_on": ["2xx"]}, 200, [], "permanent"),
        ({"stop_header": "X-Stop"}, 200, [("x-stop", "1")], "permanent"),
        ({"stop_header": "X-Stop"}, 200, [("x-stop", "False")], "retryable"),
    ],
)
def test_an_answer_that_misses_the_criteria_is_retried_unless_stopped(
    policy, status, headers, kind
):
    outcome = _judge(_answer(status, headers), criteria={"body_pattern": "done"}, **policy)

    assert (outcome.kind, outcome.outcome) == (kind, "FAILED")
    assert (outcome.error_code, outcome.status) == ("response_mismatch", status)


def test_criteria_are_asked_only_of_a_status_of_success():
    assert _judge(_answer(503), criteria={"body_pattern": "x"}).error_code == "http_status"


@pytest.mark.parametrize(
    ("stop_on", "status", "kind"),
    [
        *((["503"], 503, "permanent"), (["503"], 500, "retryable"), (["5xx"], 599, "permanent")),
        *((["429"], 429, "permanent"), ([], 503, "retryable"), (None, 503, "retryable")),
    ],
)
def test_a_status_that_stops_is_never_retried(stop_on, status, kind):
    assert _judge(_answer(status), stop_on=stop_on).kind == kind


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *(("true", "permanent"), ("", "permanent"), ("no", "permanent"), ("1", "permanent")),
        *(("false", "retryable"), (" FALSE ", "retryable"), ("0", "retryable")),
    ],
)
def test_a_receiver_can_forbid_the_retry_by_a_header(value, kind):
    assert _judge(_answer(503, [("x-no-RETRY", value)]), stop_header="X-No-Retry").kind == kind


@pytest.mark.parametrize(
    ("status", "kind"), [(503, "retryable"), (401, "permanent"), (410, "permanent")]
)
def test_a_token_endpoint_is_judged_by_its_status(status, kind):
    error = DeliveryError("http_status", "The token endpoint answered.")
    error.status = status

    outcome = _judge(error)

    assert (outcome.kind, outcome.error_code, outcome.status) == (kind, "http_status", None)


def _decide(outcome, *, attempt=1, limit=5, age=0.0, **policy):
    ended = Ended(attempt, limit, NOW - timedelta(seconds=age), NOW)
    fixed = {"backoff": "fixed", "initial_delay_seconds": 10, "jitter": "none"}
    return decide(outcome, lambda: ended, {**fixed, **policy}, lambda: 0.5)


RETRY = Outcome("retryable", "FAILED", "http_status", "why", 503)
RULES = [
    {"statuses": ["429"], "max_attempts": 2, "delay_seconds": None},
    {"statuses": ["5xx"], "max_attempts": None, "delay_seconds": 3.5},
    {"statuses": ["503"], "max_attempts": 1, "delay_seconds": 99},
]


def test_ends_that_are_no_failure_have_their_verbs():
    assert _decide(Outcome("success", "SUCCEEDED")) == {"verb": "succeeded"}
    assert _decide(Outcome("accepted", "SUCCEEDED")) == {"verb": "accepted"}
    assert _decide(Outcome("permanent", "FAILED"))["reason"] == "not_retryable"


def test_the_last_attempt_ends_it():
    assert _decide(RETRY, attempt=4)["retry_in"] == 10
    assert _decide(RETRY, attempt=5) == {"verb": "failed", "reason": "attempts_exhausted"}


def test_the_first_rule_for_the_status_decides_attempts_and_delay():
    busy = Outcome("retryable", "FAILED", "http_status", "why", 429)

    assert _decide(RETRY, rules=RULES)["retry_in"] == 3.5
    assert _decide(busy, rules=RULES)["retry_in"] == 10
    assert _decide(busy, attempt=2, rules=RULES)["reason"] == "attempts_exhausted"


def test_a_rule_never_gives_more_attempts_than_the_policy():
    rules = [{"statuses": ["503"], "max_attempts": 9, "delay_seconds": None}]

    assert _decide(RETRY, attempt=5, rules=rules)["reason"] == "attempts_exhausted"


def test_rules_are_about_answers_only():
    lost = Outcome("retryable", "FAILED", "connection_reset", "why")

    assert _decide(lost, rules=RULES)["retry_in"] == 10


@pytest.mark.parametrize(
    ("age", "expected"), [(50.0, "retrying"), (50.001, "failed"), (-100.0, "retrying")]
)
def test_no_retry_begins_after_the_greatest_age(age, expected):
    decided = _decide(RETRY, age=age, max_age_seconds=60)

    assert decided["verb"] == expected
    assert decided["reason"] == ("" if expected == "retrying" else "max_age_exceeded")


def test_a_wait_that_the_receiver_asks_for_counts_for_the_age():
    asked = Outcome("retryable", "FAILED", "http_status", "why", 503, 120.0)

    assert _decide(asked, max_age_seconds=100)["reason"] == "max_age_exceeded"
    assert _decide(asked, max_age_seconds=None)["retry_in"] == 120
    assert _decide(asked, max_age_seconds=130)["retry_in"] == 120
