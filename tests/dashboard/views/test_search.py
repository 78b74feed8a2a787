"""The search page finds names and opens ids; the palette gets the same as JSON."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.factories import executions_of, make_task, once, prepare

JSON = {"HTTP_ACCEPT": "application/json"}


def test_a_pasted_id_jumps_to_its_page(browser, alpha):
    task = make_task(alpha, once())
    prepare()
    [execution] = executions_of(task)
    client = browser(alpha)

    assert client.get(f"/search?q={task.pk}").url == f"/tasks/{task.pk}"
    assert client.get(f"/search?q={execution.pk}").url == f"/executions/{execution.pk}"


@pytest.mark.parametrize("headers", [{}, JSON])
def test_another_tenants_rows_are_not_found_by_id_or_name(browser, alpha, beta, headers):
    task = make_task(beta, once(name="Of beta"))
    client = browser(alpha)

    for text in (str(task.pk), "Of beta"):
        answer = client.get("/search", {"q": text}, **headers)

        assert answer.status_code == 200
        assert f"/tasks/{task.pk}" not in answer.text


def test_a_word_finds_tasks_and_pages(browser, alpha):
    task = make_task(alpha, once(name="Worker report"))

    answer = browser(alpha).get("/search?q=worker")

    assert f"/tasks/{task.pk}" in answer.text
    assert 'href="/workers"' in answer.text


def test_the_palette_gets_tasks_by_name_and_rows_by_id(browser, alpha):
    task = make_task(alpha, once(name="Worker report"))
    client = browser(alpha)
    url = f"/tasks/{task.pk}"

    by_name = client.get("/search?q=worker", **JSON)
    by_id = client.get(f"/search?q={task.pk}", **JSON)

    shown = {"label": "Worker report", "detail": "scheduled", "icon": "calendar", "url": url}
    assert by_name.json() == {"found": None, "tasks": [shown]}
    assert by_id.json()["found"] == {"kind": "task", "label": "Worker report", "url": url}
    # One address, two answers: no cache may take one for the other.
    assert "Accept" in by_name["Vary"]


def test_an_unknown_id_says_what_it_may_be(browser, alpha):
    assert "Nothing here has this id" in browser(alpha).get(f"/search?q={uuid4()}").text


@pytest.mark.parametrize("headers", [{}, JSON])
def test_odd_queries_are_no_error(browser, alpha, headers):
    client = browser(alpha)

    for text in ("", "%00", "\0", "a\0b", "x" * 5000, "%", "_", "\\"):
        assert client.get("/search", {"q": text}, **headers).status_code == 200


def test_names_are_shown_as_text(browser, alpha):
    make_task(alpha, once(name="<script>alert(1)</script>"))

    assert "<script>alert" not in browser(alpha).get("/search?q=script").text
