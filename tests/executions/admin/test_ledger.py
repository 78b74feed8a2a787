from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from executions.models import Attempt, Execution
from tests.factories import make_execution, once
from tests.support.admin import said, text_of

pytestmark = pytest.mark.django_db


def test_executions_are_cancelled_after_a_question(browser, alpha):
    waiting, done = make_execution(alpha), make_execution(alpha, "SUCCEEDED")

    asked = browser.act(Execution, "cancel", [waiting, done])
    answer = browser.confirm(Execution, "cancel", [waiting, done])

    assert "2 executions:" in text_of(asked)
    assert said(answer) == "1 cancelled, 1 skipped (already succeeded), 0 failed."
    waiting.refresh_from_db()
    assert waiting.status == "CANCELLED"


def test_finished_executions_are_retried_after_a_question(browser, alpha, beta):
    failed = make_execution(alpha, "FAILED")
    waiting = make_execution(beta)

    assert not Execution.objects.filter(trigger="retry").exists()
    browser.act(Execution, "retry", [failed])
    assert not Execution.objects.filter(trigger="retry").exists()
    answer = browser.confirm(Execution, "retry", [failed, waiting])

    assert said(answer) == "1 retried, 1 skipped (still pending), 0 failed."
    assert Execution.objects.get(trigger="retry").parent_id == failed.pk


def test_rows_name_their_task_and_lead_to_the_console(browser, alpha):
    execution = make_execution(alpha, "FAILED", once(name="Nightly <report>"))

    page = browser.list(Execution).content.decode()

    assert "Nightly &lt;report&gt;" in page
    assert f'href="/executions/{execution.pk}"' in page
    assert f"execution__id__exact={execution.pk}" in page


def test_a_page_costs_the_same_whatever_it_shows(browser, alpha):
    make_execution(alpha)
    with CaptureQueriesContext(connection) as one:
        browser.list(Execution)
    for _ in range(4):
        make_execution(alpha)
    with CaptureQueriesContext(connection) as five:
        browser.list(Execution)

    assert len(one) == len(five)


@pytest.mark.parametrize(
    "query", [{"status": "FAILED"}, {"error_code": "http_status"}, {"trigger": "schedule"}]
)
def test_executions_are_found_by_filter(browser, alpha, query):
    failed = make_execution(alpha, "FAILED")
    succeeded = make_execution(alpha, "SUCCEEDED")

    shown = browser.list(Execution, **query).context["cl"].result_list

    assert failed in shown
    assert (succeeded in shown) == ("trigger" in query)


def test_executions_are_found_by_id_task_and_name(browser, alpha):
    wanted = make_execution(alpha, body=once(name="Nightly"))
    make_execution(alpha, body=once(name="Weekly"))

    for text in (str(wanted.pk), str(wanted.task_id), "nigh"):
        assert browser.list(Execution, q=text).context["cl"].result_list == [wanted]
    of_task = browser.list(Execution, task__id__exact=str(wanted.task_id))
    assert of_task.context["cl"].result_list == [wanted]
    assert browser.list(Execution, q="yearly").context["cl"].result_list == []


def test_attempts_are_found_by_execution(browser, alpha):
    failed = make_execution(alpha, "FAILED")
    attempt = Attempt.objects.get(execution_id=failed.pk)

    for query in (
        {"q": str(failed.pk)},
        {"q": str(attempt.pk)},
        {"execution__id__exact": str(failed.pk)},
    ):
        assert browser.list(Attempt, **query).context["cl"].result_list == [attempt]
    assert browser.list(Attempt, q="words").context["cl"].result_list == []
