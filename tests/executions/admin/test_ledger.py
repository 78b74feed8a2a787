from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from executions.models import Attempt, Execution
from tests.factories import finish, make_execution, once, release, start
from tests.support.admin import said, text_of

pytestmark = pytest.mark.django_db

_SOME = str(UUID(int=1))


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


def test_attempts_are_paged_by_execution_and_id(browser, alpha, monkeypatch):
    from executions.admin import AttemptAdmin

    monkeypatch.setattr(AttemptAdmin, "list_per_page", 2)
    for _ in range(3):
        make_execution(alpha, "FAILED")
    twice = make_execution(alpha)
    for status in ("RETRYING", "FAILED"):
        [row] = release()
        start([row])
        finish(row, status)
    expected = sorted(Attempt.objects.all(), key=lambda one: (one.execution_id, one.id))[::-1]

    seen: list[Attempt] = []
    query: dict[str, str] = {}
    while True:
        shown = browser.list(Attempt, **query).context["cl"]
        seen += shown.result_list
        if shown.older is None:
            break
        last = shown.result_list[-1]
        query = {"before": f"{last.execution_id},{last.id}"}

    assert seen == expected
    assert [one.execution_id for one in seen].count(twice.id) == 2


@pytest.mark.parametrize("before", ["", "words", _SOME, f"{_SOME},words", ",,"])
def test_a_place_that_is_none_leads_back_to_the_newest(browser, alpha, before):
    answer = browser.client.get("/admin/executions/attempt/", {"before": before})

    assert (answer.status_code, answer["Location"]) == (302, "/admin/executions/attempt/?e=1")


def test_an_attempt_has_a_page_of_its_own(browser, alpha):
    make_execution(alpha, "FAILED")
    attempt = Attempt.objects.get()

    shown = browser.client.get(f"/admin/executions/attempt/{attempt.pk}/change/")
    gone = browser.client.get(f"/admin/executions/attempt/{uuid4()}/change/")

    assert shown.status_code == 200
    assert shown.context["original"] == attempt
    assert gone.status_code == 302
