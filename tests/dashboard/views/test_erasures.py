"""The certificates of erasures, and the button that erases a task."""

from __future__ import annotations

import pytest

from executions.erasure import steps
from executions.erasure.requests import erase_task
from executions.models import Erasure
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.factories import ACTOR, make_dead_letter, make_task


def begin(tenant, task, reason="asked for"):
    return erase_task(tenant.id, task.id, reason=reason, actor=ACTOR)


def test_an_admin_erases_a_task_by_its_menu(browser, alpha):
    task = make_task(alpha)
    client = browser(alpha, role="admin")
    assert "Erase the task" in client.get(f"/tasks/{task.id}").text

    answer = client.post(f"/tasks/{task.id}/erase", {"reason": "asked for"})

    erasure = Erasure.objects.get()
    assert answer.status_code == 302
    assert answer["Location"] == f"/erasures/{erasure.id}"
    assert (erasure.object_id, erasure.reason) == (task.id, "asked for")


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_may_neither_erase_nor_read_certificates(browser, alpha, role):
    task = make_task(alpha)
    erasure = begin(alpha, make_task(alpha))
    client = browser(alpha, role=role)

    assert "Erase the task" not in client.get(f"/tasks/{task.id}").text
    assert client.post(f"/tasks/{task.id}/erase", {"reason": "x"}).status_code == 403
    assert client.get("/erasures").status_code == 403
    assert client.get(f"/erasures/{erasure.id}").status_code == 403
    assert Erasure.objects.count() == 1


def test_an_empty_reason_changes_nothing(browser, alpha):
    task = make_task(alpha)

    browser(alpha).post(f"/tasks/{task.id}/erase", {"reason": " "})

    assert not Erasure.objects.exists()


def test_certificates_are_listed_and_shown(browser, alpha):
    assert "Nothing was erased" in browser(alpha).get("/erasures").text
    erasure = begin(alpha, make_task(alpha))
    assert "Under way" in browser(alpha).get(f"/erasures/{erasure.id}").text
    while steps.run_some(erasure.id):
        pass

    assert str(erasure.object_id) in browser(alpha).get("/erasures").text
    shown = browser(alpha).get(f"/erasures/{erasure.id}").text
    assert "Completed" in shown
    assert "task_revisions" in shown


def test_a_hostile_reason_is_shown_as_text(browser, alpha):
    erasure = begin(alpha, make_task(alpha), reason=HOSTILE)

    assert is_escaped(browser(alpha).get("/erasures"))
    assert is_escaped(browser(alpha).get(f"/erasures/{erasure.id}"))


def test_another_tenants_certificate_is_not_found(browser, alpha, beta):
    erasure = begin(alpha, make_task(alpha))

    assert browser(beta).get(f"/erasures/{erasure.id}").status_code == 404
    assert str(erasure.id) not in browser(beta).get("/erasures").text


def test_pages_about_what_is_left_of_a_task_are_shown(browser, alpha):
    letter = make_dead_letter(alpha)
    erasure = erase_task(alpha.id, letter.task_id, reason="asked for", actor=ACTOR)
    while steps.run_some(erasure.id):
        pass

    pages = (f"/executions/{letter.execution_id}", "/executions", f"/dead-letters/{letter.id}")
    for path in (*pages, "/dead-letters", "/"):
        assert browser(alpha).get(path).status_code == 200, path
