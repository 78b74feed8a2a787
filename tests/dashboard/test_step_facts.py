from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.step_facts import (
    bars_of,
    begins_when,
    counts_text,
    dag_of,
    facts_of,
    in_order,
    step_words,
)
from insight.presentation.workflow_runs import present_seen
from insight.workflow_runs import find_take, see
from tasks.validation.workflow import parse_workflow
from tests.support.workflows import begin_run, calls, make_workflow, work
from tests.tasks.bodies import LIMITS

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def _steps(*steps):
    body = {"name": "Flow", "steps": list(steps)}
    found = parse_workflow(body, now=NOW, limits=LIMITS).target["steps"]
    return {step["key"]: step for step in found}


def _seen(tenant, run):
    [seen] = see([find_take(tenant.pk, run)])
    return seen


def test_what_each_kind_of_step_does_is_told_in_words():
    steps = _steps(
        calls("t"),
        {"key": "d", "kind": "delay", "delay_seconds": 90},
        {"key": "e", "kind": "wait_for_event", "event": "paid", "correlation": "17"},
        {"key": "a", "kind": "approval", "timeout_seconds": 60},
    )

    words = {key: step_words(step) for key, step in steps.items()}

    assert {key: (one.kind, f"{one.verb} {one.name}".strip()) for key, one in words.items()} == {
        "t": ("webhook", "POST https://api.example.com/t"),
        "d": ("delay", "wait 1 m 30 s"),
        "e": ("signal", "wait for the signal paid"),
        "a": ("approval", "wait for approval"),
    }
    assert words["e"].facts == (("Correlation", "17"),)
    assert words["a"].facts == (("Given up after", "1 m"),)


def test_when_a_step_begins_is_told_in_words():
    seven = [calls(f"s{n}") for n in range(7)]
    steps = _steps(
        *seven,
        calls("one", "s0"),
        calls("some", "s0", "s1", condition="one_failed"),
        calls("many", *(f"s{n}" for n in range(7))),
    )

    assert begins_when(steps["s0"]) == ""
    assert begins_when(steps["one"]) == "After s0"
    assert begins_when(steps["some"]) == "After s0, s1, when one has failed"
    assert "s4 and 2 more, when all have succeeded" in begins_when(steps["many"])


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (None, ""),
        ({}, ""),
        ({"SUCCEEDED": 7, "QUEUED": 13}, "7/20 items"),
        ({"SUCCEEDED": 1, "FAILED": 1200}, "1,201/1,201 items, 1,200 failed"),
    ],
)
def test_items_are_counted_by_those_that_have_ended(counts, text):
    assert counts_text(counts) == text


def test_counts_are_in_the_order_of_the_states():
    assert list(in_order({"SKIPPED": 1, "PENDING": 2, "FAILED": 3, "QUEUED": 0})) == [
        "PENDING",
        "FAILED",
        "SKIPPED",
    ]


def test_only_a_step_that_calls_nothing_may_be_ended_by_hand(alpha):
    flow = [calls("a"), {"key": "w", "kind": "delay", "delay_seconds": 60}, calls("b", "a")]
    run = begin_run(make_workflow(alpha, flow))
    seen = _seen(alpha, run)

    facts = facts_of(seen, present_seen(seen)["steps"])

    assert {one.key: one.may_end for one in facts} == {"a": False, "w": True, "b": True}


def test_a_long_output_is_cut_in_the_list(alpha):
    flow = [calls("a"), calls("b", "a", payload="{{ steps.a.output }}")]
    run = begin_run(make_workflow(alpha, flow))
    work(run, lambda key, item: ("SUCCEEDED", "x" * 3000))
    seen = _seen(alpha, run)

    [first, _] = facts_of(seen, present_seen(seen)["steps"])

    assert (first.is_cut, len(first.output)) == (True, 2000)


def test_the_reason_is_left_out_where_the_error_says_the_same(alpha):
    run = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a")]))
    work(run, lambda key, item: "FAILED")
    seen = _seen(alpha, run)

    [failed, skipped] = facts_of(seen, present_seen(seen)["steps"])

    assert failed.error is not None
    assert (failed.reason, failed.error["code"]) == ("", "http_status")
    assert skipped.reason == "dependency_failed"
    assert [bar.key for bar in bars_of([failed, skipped])] == ["a"]


def test_the_graph_has_prerequisites_first_and_their_addresses(alpha):
    run = begin_run(make_workflow(alpha, [calls("b", "a"), calls("a")]))
    seen = _seen(alpha, run)

    first, second = dag_of(seen.plan.graph, {1: "PENDING"}, {1: "1/2 items"}, "/x/{}".format)

    assert (first.key, first.state, first.href) == ("a", None, "/x/2")
    assert (second.key, second.state, second.note) == ("b", "PENDING", "1/2 items")
    assert second.depends_on == (first.number,)
