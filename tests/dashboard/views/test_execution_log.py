"""The whole log of a handler or a command: plain text, of its own tenant, by attempt."""

from __future__ import annotations

import pytest

from tests.dashboard.kinds import HOSTILE_LOG, allow, started, task_of
from tests.factories import make_execution


def test_a_log_is_the_plain_text_that_was_written(browser, alpha, monkeypatch):
    allow(monkeypatch, alpha)
    execution = started(task_of(alpha, "handler"), log=HOSTILE_LOG, status="SUCCEEDED")

    answer = browser(alpha, role="viewer").get(f"/executions/{execution.pk}/log?attempt=1")

    assert answer.content == HOSTILE_LOG
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_another_tenants_log_is_not_to_be_had(browser, alpha, beta, monkeypatch):
    allow(monkeypatch, beta)
    execution = started(task_of(beta, "handler"), log=b"secret", status="SUCCEEDED")

    assert browser(alpha).get(f"/executions/{execution.pk}/log").status_code == 404


@pytest.mark.parametrize(
    "query", ["", "?attempt=2", "?attempt=x", "?attempt=%D9%A1", "?attempt=-1"]
)
def test_where_nothing_was_captured_there_is_no_log(browser, alpha, query):
    execution = make_execution(alpha, "SUCCEEDED")

    assert browser(alpha).get(f"/executions/{execution.pk}/log{query}").status_code == 404
