"""The search field jumps to ids and finds names."""

from __future__ import annotations

from uuid import uuid4

from tests.factories import executions_of, make_task, once, prepare


def test_a_pasted_id_jumps_to_its_page(browser, alpha):
    task = make_task(alpha, once())
    prepare()
    [execution] = executions_of(task)
    client = browser(alpha)

    assert client.get(f"/search?q={task.pk}").url == f"/tasks/{task.pk}"
    assert client.get(f"/search?q={execution.pk}").url == f"/executions/{execution.pk}"


def test_another_tenants_id_leads_nowhere(browser, alpha, beta):
    task = make_task(beta, once())

    answer = browser(alpha).get(f"/search?q={task.pk}")

    assert answer.status_code == 200
    assert "No task or page has this name." in answer.text


def test_a_word_finds_tasks_and_pages(browser, alpha):
    task = make_task(alpha, once(name="Worker report"))

    answer = browser(alpha).get("/search?q=worker")

    assert f"/tasks/{task.pk}" in answer.text
    assert 'href="/workers"' in answer.text


def test_typing_gets_only_the_results(browser, alpha):
    answer = browser(alpha).get("/search?q=zzz", HTTP_HX_REQUEST="true")

    assert "<html" not in answer.text


def test_an_unknown_id_and_an_empty_field_are_no_error(browser, alpha):
    client = browser(alpha)

    for text in (str(uuid4()), "", "%00", "\0", "a\0b", "x" * 5000):
        assert client.get("/search", {"q": text}).status_code == 200


def test_names_are_shown_as_text(browser, alpha):
    make_task(alpha, once(name="<script>alert(1)</script>"))

    assert "<script>alert" not in browser(alpha).get("/search?q=script").text
