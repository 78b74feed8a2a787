from __future__ import annotations

from typing import Any

import pytest

from tasks.field_reader import MAX_ERRORS, Errors, FieldReader
from tasks.limits import FAN_OUT_ITEMS, STEP_DEPENDENCIES, STEPS
from tasks.validation.steps import graph_of, read_steps
from tasks.workflow.graph import numbered
from tests.tasks.bodies import LIMITS
from tests.tasks.steps import HOOK, problems, read, sentences, step

SOME_ID = "01a22706-c089-8105-8bf5-9f7dc3a90b65"


def test_every_field_of_the_kind_is_there():
    [target, approval] = read([step("a"), {"key": "b", "kind": "approval"}])

    assert target["target"]["method"] == "POST"
    without = {key: value for key, value in target.items() if key != "target"}
    assert without == {
        "key": "a",
        "kind": "target",
        "depends_on": [],
        "condition": "all_success",
        "when": None,
        "deadline_seconds": None,
        "deadline_at": None,
        "deadline_timezone": None,
        "payload": None,
        "retry_policy": None,
        "priority": None,
        "compensate": None,
        "for_each": None,
        "max_parallel": None,
        "min_success_share": 1,
        "sensitive": False,
    }
    assert approval == {
        "key": "b",
        "kind": "approval",
        "depends_on": [],
        "condition": "all_success",
        "when": None,
        "deadline_seconds": None,
        "deadline_at": None,
        "deadline_timezone": None,
        "timeout_seconds": None,
    }


def test_a_fan_out_runs_a_hundred_items_at_one_time_unless_it_says():
    [one, other] = read([step("a", for_each=[1]), step("b", for_each=[1], max_parallel=7)])

    assert (one["max_parallel"], other["max_parallel"]) == (100, 7)


@pytest.mark.parametrize(
    "one",
    [
        {"kind": "workflow", "workflow_id": SOME_ID, "input": {"day": 1}},
        {"kind": "delay", "delay_seconds": 3600},
        {"kind": "wait_for_event", "event": "paid", "correlation": "order-17"},
        {"kind": "approval", "timeout_seconds": 86400},
        {"target": {"kind": "pool", "pool": "batch-etl", "handler": "train"}},
        {"target": {"kind": "handler", "handler": "reports.nightly"}},
        {"target": HOOK, "for_each": [1, 2], "max_parallel": 500, "min_success_share": 0.9},
        {"target": HOOK, "compensate": {"target": HOOK, "on": ["SUCCEEDED", "TIMED_OUT"]}},
        {"target": HOOK, "priority": 0, "retry_policy": {"max_attempts": 1}, "sensitive": True},
    ],
)
def test_what_was_read_is_read_again_to_the_same(one: dict[str, Any]):
    found = read([{"key": "a", **one}])

    assert read(found) == found


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (5, ("#/steps/0", "invalid_type")),
        ({"target": HOOK}, ("#/steps/0/key", "required")),
        (step("two words"), ("#/steps/0/key", "invalid")),
        (step("9lives"), ("#/steps/0/key", "invalid")),
        (step("k" * 64), ("#/steps/0/key", "too_long")),
        (step("a", kind="task"), ("#/steps/0/kind", "invalid_choice")),
        (step("a", condition="always"), ("#/steps/0/condition", "invalid_choice")),
        (step("a", when="input.n +"), ("#/steps/0/when", "expression_invalid")),
        (step("a", when=5), ("#/steps/0/when", "invalid_type")),
        (step("a", depends_on="b"), ("#/steps/0/depends_on", "invalid_type")),
        (step("a", depends_on=[5]), ("#/steps/0/depends_on/0", "invalid_type")),
        (step("a", depends_on=["b", "b"]), ("#/steps/0/depends_on/1", "not_unique")),
        (step("a", "b"), ("#/steps/0/depends_on/0", "step_unknown")),
        (step("a", "a"), ("#/steps/0/depends_on", "workflow_cycle")),
        (step("a", priority=10), ("#/steps/0/priority", "out_of_range")),
        (step("a", delay_seconds=5), ("#/steps/0/delay_seconds", "unknown_field")),
        ({"key": "a"}, ("#/steps/0/target", "required")),
        (step("a", target=None), ("#/steps/0/target", "required")),
        (step("a", target=5), ("#/steps/0/target", "invalid_type")),
        (
            step("a", target={**HOOK, "template": True}),
            ("#/steps/0/target/template", "not_applicable"),
        ),
        (step("a", timeout_seconds=0), ("#/steps/0/target/timeout_seconds", "out_of_range")),
        (
            step("a", target={**HOOK, "timeout_seconds": 5}, timeout_seconds=5),
            ("#/steps/0/timeout_seconds", "exclusive"),
        ),
        (step("a", pool="gpu"), ("#/steps/0/pool", "not_applicable")),
        (
            step("a", target={**HOOK, "body_format": "raw"}, payload={"a": 1}),
            ("#/steps/0/payload", "invalid_type"),
        ),
        (step("a", condition="one_failed"), ("#/steps/0/condition", "not_applicable")),
        (step("a", deadline_at="6:00"), ("#/steps/0/deadline_at", "invalid")),
        (step("a", compensate={"target": None}), ("#/steps/0/compensate/target", "required")),
        (
            step("a", compensate={"target": HOOK, "on": []}),
            ("#/steps/0/compensate/on", "out_of_range"),
        ),
        (step("a", target={"url": "nope"}), ("#/steps/0/target/url", "url_invalid")),
        (
            step("a", retry_policy={"max_attempts": 0}),
            ("#/steps/0/retry_policy/max_attempts", "out_of_range"),
        ),
        (step("a", payload={"x": float("nan")}), ("#/steps/0/payload/x", "out_of_range")),
        (step("a", payload="\0"), ("#/steps/0/payload", "invalid_characters")),
        (step("a", max_parallel=5), ("#/steps/0/max_parallel", "not_applicable")),
        (step("a", for_each=5), ("#/steps/0/for_each", "invalid_type")),
        (step("a", for_each="all {{ input }}"), ("#/steps/0/for_each", "invalid_type")),
        (step("a", for_each=[1], max_parallel=501), ("#/steps/0/max_parallel", "out_of_range")),
        (
            step("a", for_each=[1], min_success_share=1.1),
            ("#/steps/0/min_success_share", "out_of_range"),
        ),
        (step("a", compensate={}), ("#/steps/0/compensate/target", "required")),
        (
            step("a", compensate={"target": HOOK, "on": ["FAILED"]}),
            ("#/steps/0/compensate/on/0", "invalid_choice"),
        ),
        ({"key": "a", "kind": "delay"}, ("#/steps/0/delay_seconds", "required")),
        (
            {"key": "a", "kind": "delay", "delay_seconds": 1e9},
            ("#/steps/0/delay_seconds", "out_of_range"),
        ),
        ({"key": "a", "kind": "wait_for_event"}, ("#/steps/0/event", "required")),
        ({"key": "a", "kind": "workflow"}, ("#/steps/0/workflow_id", "required")),
        (
            {"key": "a", "kind": "workflow", "workflow_id": "x"},
            ("#/steps/0/workflow_id", "invalid"),
        ),
        (
            {"key": "a", "kind": "approval", "timeout_seconds": 0},
            ("#/steps/0/timeout_seconds", "out_of_range"),
        ),
    ],
)
def test_a_mistake_is_told_where_it_stands(one: Any, expected: tuple[str, str]):
    assert problems([one]) == [expected]


@pytest.mark.parametrize("steps", [[], [step(f"s{n}") for n in range(STEPS + 1)]])
def test_there_are_one_to_a_thousand_steps(steps: list[Any]):
    assert problems(steps) == [("#/steps", "out_of_range")]


@pytest.mark.parametrize("steps", [None, "x", {}])
def test_steps_are_a_list(steps: Any):
    [(pointer, _)] = problems(steps)

    assert pointer == "#/steps"


def test_bounds_of_a_step_are_told_and_not_cut():
    many = [step(f"s{n}") for n in range(STEP_DEPENDENCIES + 1)]
    join = step("join", *(one["key"] for one in many))
    fan = step("fan", for_each=[0] * (FAN_OUT_ITEMS + 1))

    assert problems([*many, join]) == [(f"#/steps/{len(many)}/depends_on", "too_many")]
    assert problems([fan]) == [("#/steps/0/for_each", "too_many")]


def test_a_key_that_stands_twice_names_the_first_place():
    [said] = sentences([step("a"), step("b"), step("a")])

    assert said == "#/steps/0 has this key already; choose another."


def test_a_misspelled_step_is_guessed():
    [said] = sentences([step("extract"), step("load", "extrakt")])

    assert said == "There is no step 'extrakt'. Did you mean 'extract'?"


def test_a_cycle_is_told_with_its_path():
    [said] = sentences([step("a", "c"), step("b", "a"), step("c", "b"), step("free")])

    path = said.removeprefix("The steps wait for each other: ").removesuffix(".").split(" → ")
    assert path[0] == path[-1]
    assert set(path) == {"a", "b", "c"}


def test_the_path_of_a_cycle_is_told_whole_and_its_sentence_is_short():
    chain = [step("s0", "s499")] + [step(f"s{n}", f"s{n - 1}") for n in range(1, 500)]
    errors = Errors()

    read_steps(FieldReader({"steps": chain}, "#", errors), LIMITS)

    [error] = errors.renamed(str)
    assert len(error.path) == 501
    assert error.path[0] == error.path[-1]
    assert "(491 more)" in error.message
    assert len(error.message) < 150


def test_where_more_is_wrong_than_is_told_nothing_else_breaks():
    errors = Errors()
    for number in range(MAX_ERRORS):
        errors.add(f"#/{number}", "unknown_field", "There is no such field.")

    for steps in ([5], [step("a", "b")], [step("a", payload="{{ x }}")]):
        read_steps(FieldReader({"steps": steps}, "#", errors), LIMITS)

    assert errors.count == MAX_ERRORS


def test_a_thousand_steps_with_wrong_names_are_refused_at_once():
    """The search for what was meant would take an hour for all of them."""
    wrong = [f"stepp-numbre-{n}" for n in range(STEP_DEPENDENCIES)]
    steps = [step(f"step-number-{n}", *wrong) for n in range(STEPS)]

    assert len(problems(steps)) == MAX_ERRORS


def test_a_time_out_and_a_pool_may_stand_beside_the_target():
    [one, two] = read(
        [
            step("a", timeout_seconds=7),
            step("b", target={"kind": "handler", "handler": "reports.nightly"}, pool="own"),
        ]
    )

    assert one["target"]["timeout_seconds"] == 7
    assert two["target"]["pool"] == "own"


def test_a_field_of_another_kind_names_that_kind():
    [said] = sentences([step("a", delay_seconds=5)])

    assert "'delay'" in said


def test_the_graph_of_steps_has_their_numbers_and_conditions():
    steps = read([step("first"), step("last", "first", condition="all_done")])

    graph = graph_of(steps, numbered([one["key"] for one in steps], {"last": 1, "gone": 2}))

    assert graph.order == (3, 1)
    assert graph.steps[1].condition == "all_done"
    assert graph.steps[1].depends_on == (3,)


def test_a_thousand_steps_in_a_chain_are_read():
    chain = [step("s0")] + [step(f"s{n}", f"s{n - 1}") for n in range(1, STEPS)]

    assert len(read(chain)) == STEPS
