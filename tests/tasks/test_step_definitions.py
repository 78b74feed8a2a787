"""What each step of a workflow calls is a definition like that of a task."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tasks.definition import Definition
from tasks.limits import current_limits
from tasks.step_definitions import is_rendered, step_definitions, with_numbers_of
from tasks.validation.bodies import parse_create
from tasks.validation.workflow import parse_workflow
from tasks.versions import is_of_compensation, is_of_step, step_version
from tests.support.workflows import calls

NOW = datetime(2026, 11, 29, tzinfo=UTC)


def made(*steps: dict[str, Any], **parts: Any) -> dict[int, Definition]:
    body = {"name": "Flow", "steps": list(steps), **parts}
    return dict(step_definitions(3, parse_workflow(body, now=NOW, limits=current_limits())))


def test_each_call_has_a_version_of_its_own():
    found = made(calls("a"), {"key": "wait", "kind": "approval"}, calls("b", "wait"))

    assert list(found) == [step_version(3, 1), step_version(3, 3)]
    assert [one.target["url"] for one in found.values()] == [
        "https://api.example.com/a",
        "https://api.example.com/b",
    ]
    assert all(is_of_step(version) for version in found)


def test_what_undoes_a_step_has_a_version_as_well():
    undo = {"target": {"url": "https://api.example.com/undo"}, "payload": {"x": 1}}

    found = made(calls("a", compensate=undo))

    [version] = [one for one in found if is_of_compensation(one)]
    assert found[version].target["url"] == "https://api.example.com/undo"
    assert found[version].payload == {"x": 1}


@pytest.mark.parametrize(("own", "expected"), [(None, 4), (2, 4), (7, 7)])
def test_a_step_is_never_more_urgent_than_its_run(own: int | None, expected: int):
    [step] = made(calls("a", priority=own), priority=4).values()

    assert step.priority == expected


def test_a_step_has_its_own_retry_policy_or_the_default():
    first, second = made(calls("a", retry_policy={"max_attempts": 2}), calls("b")).values()

    assert first.retry_policy["max_attempts"] == 2
    assert second.retry_policy["max_attempts"] == 5


def test_a_target_with_templates_of_its_run_is_marked():
    plain, rendered = calls("a"), calls("b", "a")
    rendered["target"] = {"url": "https://api.example.com/{{ steps.a.output.id }}"}

    first, second = made(plain, rendered).values()

    assert not is_rendered(first.target)
    assert "rendered" not in first.target
    assert second.target["rendered"]


def numbered(*keys: str, **numbers: int) -> Definition:
    body = {"name": "Flow", "steps": [calls(key) for key in keys]}
    found = parse_workflow(body, now=NOW, limits=current_limits())
    return replace(found, target={**found.target, "numbers": numbers})


def test_a_version_that_comes_back_keeps_the_numbers_of_keys_that_came_later():
    current, earlier = numbered("a", "b", a=1, b=2), numbered("a", a=1)

    assert with_numbers_of(current, earlier).target["numbers"] == {"a": 1, "b": 2}


def test_a_definition_that_knows_all_numbers_stays_as_it_is():
    current, following = numbered("a", a=1), numbered("a", "b", a=1, b=2)

    assert with_numbers_of(current, following) is following


def test_a_plain_task_has_no_numbers():
    plain = parse_create(
        {"target": {"url": "https://api.example.com/x"}, "schedule": {"every": "PT1H"}},
        now=NOW,
        limits=current_limits(),
    )

    assert with_numbers_of(plain, plain) is plain
