"""Concurrency keys on the console: the list, and the pages of tasks and executions."""

from __future__ import annotations

from executions.models import Execution
from tests.dashboard.asking import HOSTILE, is_escaped
from tests.executions.gate.key_world import KEY, begin, look, make, own_everything


def test_keys_are_listed_with_links_to_what_holds_them(browser, alpha, beta):
    first, _ = make(alpha, 2)
    make(beta, 1, {"key": "theirs"})
    look()
    begin()

    answer = browser(alpha, role="viewer").get("/concurrency-keys")

    assert [one.key for one in answer.context["rows"]] == [KEY]
    assert f"/executions/{Execution.objects.get(task_id=first.id).id}" in answer.text
    assert "theirs" not in answer.text


def test_without_open_work_the_page_says_what_belongs_here(browser, alpha):
    assert "No key has open work" in browser(alpha).get("/concurrency-keys").text
    assert "in its name" in browser(alpha).get("/concurrency-keys?q=nowhere").text


def test_the_list_goes_on(browser, alpha, monkeypatch):
    monkeypatch.setattr("dashboard.views.concurrency_keys.PAGE_ROWS", 2)
    for key in "abc":
        make(alpha, 1, {"key": key})
    client = browser(alpha)

    first = client.get("/concurrency-keys").context
    assert (len(first["rows"]), first["next_after"]) == (2, "b")
    [last] = client.get("/concurrency-keys?after=b").context["rows"]
    assert last.key == "c"


def test_hostile_keys_are_escaped(browser, alpha):
    make(alpha, 1, {"key": HOSTILE})

    assert is_escaped(browser(alpha).get("/concurrency-keys"))


def test_pages_of_task_and_execution_say_who_has_the_place(browser, alpha):
    first, second = make(alpha, 2, name="Charge")
    look()
    begin()
    own_everything()
    holder, waiting = (Execution.objects.get(task_id=task.id) for task in (first, second))
    client = browser(alpha, role="viewer")

    page = client.get(f"/executions/{waiting.id}").text
    assert f"waits for the key {KEY}: 1 of 1 in use by" in page
    assert f"/executions/{holder.id}" in page
    assert f"/executions/{holder.id}" in client.get(f"/tasks/{second.id}").text
    listed = client.get(f"/executions?concurrency_key={KEY}&window=any").context["rows"]
    assert len(listed) == 2
