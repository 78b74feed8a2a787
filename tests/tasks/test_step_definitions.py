from __future__ import annotations

from dataclasses import replace

from tasks.step_definitions import step_definitions, with_numbers_of
from tasks.validation.workflow import parse_workflow
from tasks.versions import step_version
from tests.tasks.bodies import LIMITS, NOW, create
from tests.tasks.steps import step


def workflow(*steps, **parts):
    body = {"name": "Flow", "steps": list(steps), **parts}
    return parse_workflow(body, now=NOW, limits=LIMITS)


def numbered(definition, **numbers):
    return replace(definition, target={**definition.target, "numbers": numbers})


def test_each_step_that_calls_something_has_a_definition_of_its_own():
    definition = workflow(
        step("load", payload={"n": 1}), {"key": "wait", "kind": "delay", "delay_seconds": 1}
    )

    [(version, called)] = step_definitions(3, definition)

    assert version == step_version(3, definition.target["numbers"]["load"])
    assert (called.payload, called.target["kind"]) == ({"n": 1}, "webhook")


def test_a_step_is_never_more_urgent_than_its_run():
    definition = workflow(step("a", priority=1), step("b", priority=9), step("c"), priority=4)

    assert [called.priority for _, called in step_definitions(1, definition)] == [4, 9, 4]


def test_a_version_that_comes_back_keeps_the_numbers_of_keys_that_came_later():
    current = numbered(workflow(step("a"), step("b")), a=1, b=2)
    earlier = numbered(workflow(step("a")), a=1)

    assert with_numbers_of(current, earlier).target["numbers"] == {"a": 1, "b": 2}


def test_a_definition_that_knows_all_numbers_stays_as_it_is():
    current, following = workflow(step("a")), workflow(step("a"), step("b"))

    assert with_numbers_of(current, following) is following


def test_a_plain_task_has_no_numbers():
    plain = create({"target": {"url": "https://api.example.com/x"}, "schedule": {"every": "PT1H"}})

    assert with_numbers_of(plain, plain) is plain
