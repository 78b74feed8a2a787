"""The page of a run, and of one of its steps."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from dashboard.state_vocabulary import look_of
from executions.models import DeadLetter, Execution, WorkflowStep
from tests.dashboard.asking import queries_for
from tests.support.workflow_steps import run_step
from tests.support.workflows import begin_run, calls, edit_workflow, make_workflow, work

NAMED = {"n": "{{ steps.a.output.n }}", "m": "{{ steps.s.output.n }}"}


def _facts(client, run):
    answer = client.get(f"/workflow-runs/{run}")
    assert answer.status_code == 200
    return {one.key: one for one in answer.context["facts"]}


def test_a_run_shows_its_graph_its_times_and_each_step(browser, alpha):
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a")]), {"day": "x"})
    work(run, lambda key, item: "FAILED" if key == "a" else "SUCCEEDED")

    answer = browser(alpha).get(f"/workflow-runs/{run}")

    assert [(one.key, one.state) for one in answer.context["dag"]] == [
        ("a", "FAILED"),
        ("b", "SKIPPED"),
    ]
    assert [one.key for one in answer.context["bars"]] == ["a"]
    assert answer.context["failed"].key == "a"
    assert "dependency_failed" in answer.text
    assert "&quot;day&quot;: &quot;x&quot;" in answer.text
    step = Execution.objects.get(run_id=run)
    assert f'href="/executions/{step.pk}"' in answer.text
    assert f'href="/workflow-runs/{run}/steps/a"' in answer.text


def test_outputs_are_shown_and_those_of_a_sensitive_step_are_masked(browser, alpha):
    flow = [calls("a"), calls("s", sensitive=True), calls("b", "a", "s", payload=NAMED)]
    run = begin_run(make_workflow(alpha, flow))
    work(run, lambda key, item: ("SUCCEEDED", {"n": 4711}))
    client = browser(alpha)

    facts = _facts(client, run)

    assert "4711" in facts["a"].output
    assert (facts["s"].output, facts["s"].is_sensitive) == ("", True)
    assert "Masked" in client.get(f"/workflow-runs/{run}/steps/s").text


def test_what_a_step_waits_for_is_told_in_words(browser, alpha):
    flow: list[dict[str, Any]] = [
        {"key": "ok", "kind": "approval", "timeout_seconds": 3600},
        {"key": "paid", "kind": "wait_for_event", "event": "paid", "correlation": "17"},
        {"key": "rest", "kind": "delay", "delay_seconds": 60},
        calls("b", "ok", "rest"),
    ]
    run = begin_run(make_workflow(alpha, flow))

    facts = _facts(browser(alpha), run)

    assert {key: one.waits for key, one in facts.items()} == {
        "ok": "Waits for approval",
        "paid": "Waits for the signal paid about 17",
        "rest": "Waits",
        "b": "Waits for ok, rest",
    }
    assert facts["ok"].until
    assert [one.key for one in facts.values() if one.may_decide] == ["ok"]


def test_a_run_that_has_not_begun_can_only_be_cancelled(browser, alpha):
    flow = make_workflow(alpha, [calls("a")])
    client = browser(alpha)
    run = client.post(f"/workflows/{flow.pk}/start")["Location"].rpartition("/")[2]

    page = client.get(f"/workflow-runs/{run}").text

    assert "It has not begun" in page
    assert f"/workflow-runs/{run}/cancel" in page
    assert f"/workflow-runs/{run}/pause" not in page
    assert f"/workflow-runs/{run}/retry" not in page


def test_buttons_follow_the_state_of_the_run_and_the_role(browser, alpha):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    client, viewer = browser(alpha), browser(alpha, role="viewer")

    under_way = client.get(f"/workflow-runs/{run}").text
    work(run, lambda key, item: "FAILED")
    ended = client.get(f"/workflow-runs/{run}").text

    assert f"/workflow-runs/{run}/pause" in under_way
    assert "Cancel and retry" in under_way
    assert f"/workflow-runs/{run}/retry" in ended
    assert "Cancel and retry" not in ended
    assert f"/workflow-runs/{run}/cancel" not in ended
    assert 'method="post" action="/workflow-runs' not in viewer.get(f"/workflow-runs/{run}").text


def test_the_items_of_a_fan_out_are_paged(browser, alpha, monkeypatch):
    monkeypatch.setattr("dashboard.views.workflows.run._ITEMS", 2)
    flow = [calls("f", for_each=[1, 2, 3], payload="{{ item }}", min_success_share=0.1)]
    run = begin_run(make_workflow(alpha, flow))
    work(run, lambda key, item: "FAILED" if item == 2 else "SUCCEEDED")
    client = browser(alpha)
    path = f"/workflow-runs/{run}/steps/f"

    first = client.get(path)
    cursor = first.context["pagination"]["next_cursor"]
    second = client.get(path, {"cursor": cursor})

    assert [one["status"] for one in first.context["items"]] == ["SUCCEEDED", "SUCCEEDED"]
    assert [(one["item"], one["status"]) for one in second.context["items"]] == [(2, "FAILED")]
    assert first.context["counts"] == {"SUCCEEDED": 2, "FAILED": 1}
    assert _facts(client, run)["f"].counts == "3/3 items, 1 failed"


def test_an_unknown_step_and_runs_of_others_are_not_found(browser, alpha, beta):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    other = begin_run(make_workflow(beta, [calls("a")]))
    client = browser(alpha)

    for path in (f"{run}/steps/x", f"{other}", f"{other}/steps/a", f"{uuid4()}"):
        assert client.get(f"/workflow-runs/{path}").status_code == 404


def test_an_output_that_no_key_opens_is_told_and_breaks_no_page(browser, alpha):
    flow = [calls("a"), calls("b", "a", payload="{{ steps.a.output }}")]
    run = begin_run(make_workflow(alpha, flow))
    work(run, lambda key, item: ("SUCCEEDED", "x"))
    WorkflowStep.objects.filter(run_id=run, step=1).update(sealed_output=b"\x01")
    client = browser(alpha)

    for path in (f"/workflow-runs/{run}", f"/workflow-runs/{run}/steps/a"):
        assert "ENCRYPTION_KEYS" in client.get(path).text


@pytest.mark.parametrize("below", ["", "/steps/s0"])
def test_a_run_of_many_steps_costs_as_many_queries_as_one_of_few(browser, alpha, below):
    client = browser(alpha)
    few, many = (
        begin_run(make_workflow(alpha, [calls(f"s{n}") for n in range(size)])) for size in (1, 40)
    )
    for run in (few, many):
        work(run)

    assert queries_for(client, f"/workflow-runs/{many}{below}") <= queries_for(
        client, f"/workflow-runs/{few}{below}"
    )


def test_the_execution_of_a_step_leads_to_its_run_and_has_no_buttons(browser, alpha):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    work(run, lambda key, item: "FAILED")
    step = Execution.objects.get(run_id=run)
    client = browser(alpha)

    page, take = (client.get(f"/executions/{one}").text for one in (step.pk, run))

    assert f'href="/workflow-runs/{run}/steps/a"' in page
    assert f'href="/workflow-runs/{run}"' in take
    for text in (page, take):
        assert f"/executions/{step.pk}/retry" not in text
        assert f"/executions/{run}/retry" not in text
    for one in (step.pk, run):
        assert client.get(f"/executions/{one}/explain").status_code == 200


def test_the_dead_letter_of_a_run_leads_to_the_run_instead_of_a_retry(browser, alpha):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    work(run, lambda key, item: "FAILED")
    letter = DeadLetter.objects.get()

    page = browser(alpha).get(f"/dead-letters/{letter.pk}").text

    assert f'href="/workflow-runs/{run}"' in page
    assert f"/dead-letters/{letter.pk}/retry" not in page


UNDO = {"target": {"url": "https://api.example.com/undo"}}


@pytest.mark.parametrize(
    ("status", "word"), [("SUCCEEDED", "undone"), ("FAILED", "not undone"), (None, "being undone")]
)
def test_a_step_that_is_undone_is_no_plain_success(browser, alpha, status, word):
    flow = [calls("a", compensate=UNDO), calls("b", "a")]
    run = begin_run(make_workflow(alpha, flow, on_failure="compensate"))
    run_step(run, "a")
    run_step(run, "b", "FAILED")
    if status:
        work(run, lambda key, item: status)
    client = browser(alpha)

    page = client.get(f"/workflow-runs/{run}")
    step = client.get(f"/workflow-runs/{run}/steps/a")
    grid = client.get(f"/workflows/{page.context['task'].pk}")

    assert look_of(page.context["dag"][0].state).label == word
    assert look_of(page.context["bars"][0].state).label == word
    assert f"</svg>{word}</span>" in page.text
    assert f"</svg>{word}</span>" in step.text
    assert "Compensation" in step.text
    assert look_of(grid.context["grid_steps"][0].states[0]).label == word
    assert ("Waiting for:</strong> undo of a" in page.text) == (status is None)


def test_a_run_says_what_it_waits_for(browser, alpha):
    steps = [{"key": "ok", "kind": "approval"}, calls("load", for_each=[1, 2])]
    flow = make_workflow(alpha, steps)
    run = begin_run(flow)
    client = browser(alpha)

    assert "<strong>Waiting for:</strong> ok, load 0/2" in client.get(f"/workflow-runs/{run}").text
    assert "Waiting for: ok, load 0/2" in client.get("/workflows").text


def test_the_critical_path_is_in_the_graph_and_in_the_list(browser, alpha):
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b"), calls("c", "a", "b")]))
    run_step(run, "a")
    run_step(run, "b")
    client = browser(alpha)
    before = client.get(f"/workflow-runs/{run}")
    work(run)

    after = client.get(f"/workflow-runs/{run}")

    assert [(one.key, one.follows) for one in after.context["dag"]] == [
        ("a", None),
        ("b", 0),
        ("c", 2),
    ]
    assert after.text.count('<span class="tag">critical path</span>') == 2
    assert before.context["on_path"] == {2}


@pytest.mark.parametrize("direction", ["across", "down"])
def test_the_direction_of_the_graph_is_kept_in_the_url(browser, alpha, direction):
    run = begin_run(make_workflow(alpha, [calls("a")]))

    answer = browser(alpha).get(f"/workflow-runs/{run}?direction={direction}")

    assert answer.context["direction"] == direction
    assert f'<a href="?direction={direction}" aria-current="true">' in answer.text


def test_a_large_fan_out_costs_the_page_nothing(browser, alpha):
    costs = []
    for count in (2, 500):
        items = list(range(count))
        flow = make_workflow(alpha, [calls(f"f{n}", for_each=items) for n in range(3)])
        run = begin_run(flow)
        client = browser(alpha)
        path = f"/workflow-runs/{run}"
        costs.append((queries_for(client, path), len(client.get(path).content)))
        step = client.get(f"{path}/steps/f1")
        assert step.text.count('id="item-') == min(count, 50)

    (few, short), (many, long) = costs
    assert many == few
    assert long < short + 500


def test_a_retry_from_a_step_uses_the_latest_version_after_an_edit_and_says_so(browser, alpha):
    flow = make_workflow(alpha, [calls("a"), calls("b", "a")])
    run = begin_run(flow)
    work(run, lambda key, item: "FAILED")
    client = browser(alpha)
    path = f"/workflow-runs/{run}/steps/a"
    before = client.get(path).text
    edit_workflow(flow, {"name": "Mended", "steps": [calls("a"), calls("b", "a")]})

    after = client.get(path).text

    latest = '<input type="hidden" name="version" value="latest">'
    assert (latest in before, latest in after) == (False, True)
    assert "in the next take of the run, by version 1." in before
    assert "by version 2, the latest: the workflow has been edited since the run began." in after


def test_a_run_of_a_deleted_workflow_leads_to_no_page_of_it(browser, alpha):
    flow = make_workflow(alpha, [calls("a")])
    run = begin_run(flow)
    work(run, lambda key, item: "FAILED")
    client = browser(alpha)
    paths = (f"/workflow-runs/{run}", f"/workflow-runs/{run}/steps/a")
    before = [client.get(path).text for path in paths]
    client.post(f"/tasks/{flow.pk}/delete")

    after = [client.get(path).text for path in paths]

    link = f'href="/workflows/{flow.pk}'
    assert all(link in text for text in before)
    assert not any(link in text for text in after)


def test_a_chart_without_a_new_bar_has_a_new_version_where_fewer_steps_are_left(
    browser, alpha, monkeypatch
):
    run = begin_run(make_workflow(alpha, [calls("a")]))
    client = browser(alpha)
    # As for a step of another page, which the chart leaves out.
    monkeypatch.setattr("dashboard.views.workflows.run.bars_of", lambda facts: [])
    before = client.get(f"/workflow-runs/{run}").context
    work(run)

    after = client.get(f"/workflow-runs/{run}").context

    assert (before["unbegun"], after["unbegun"]) == (1, 0)
    assert before["versions"]["timing"] != after["versions"]["timing"]
