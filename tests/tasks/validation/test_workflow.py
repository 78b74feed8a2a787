"""From the body of a call to the definition of a workflow."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.exceptions import InvalidInput, TooLarge
from shared.redaction import MASK
from tasks.definition import Definition
from tasks.limits import Limits, current_limits
from tasks.validation.bodies import StatusChange
from tasks.validation.workflow import (
    parse_workflow,
    parse_workflow_patch,
    parse_workflow_replace,
    workflow_fields,
)
from tests.support.workflows import calls

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
CHILD = "0193b2a0-0000-7000-8000-000000000001"


def limits() -> Limits:
    return replace(
        current_limits(), workflows=lambda ids: frozenset(one for one in ids if one == CHILD)
    )


def body(*steps: Any, **parts: Any) -> dict[str, Any]:
    return {"name": "Flow", "steps": list(steps or [calls("a"), calls("b", "a")]), **parts}


def parse(*steps: Any, **parts: Any) -> Definition:
    return parse_workflow(body(*steps, **parts), now=NOW, limits=limits())


def patch(current: Definition, **edit: Any) -> tuple[Definition, StatusChange | None]:
    return parse_workflow_patch(edit, now=NOW, limits=limits(), current=current)


def problems(whole: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        parse_workflow(whole, now=NOW, limits=limits())
    return [(error.pointer, error.code) for error in refused.value.errors]


def test_a_workflow_without_a_schedule_runs_only_when_asked():
    found = parse(max_concurrent=2)

    assert found.type == "MANUAL"
    assert found.schedule["max_concurrent"] == 2
    assert workflow_fields(found)["schedule"] is None
    assert found.target["numbers"] == {"a": 1, "b": 2}


def test_a_workflow_has_the_schedules_of_tasks():
    found = parse(schedule={"cron_expression": "0 2 * * *", "timezone": "Europe/Berlin"})

    assert found.type == "RECURRING"
    assert workflow_fields(found)["schedule"]["cron_expression"] == "0 2 * * *"
    once = parse(schedule={"delay_seconds": 60})
    assert once.schedule["run_at"] == "2026-11-29T12:01:00.000Z"


@pytest.mark.parametrize(
    ("parts", "pointer", "code"),
    [
        ({"name": 5}, "#/name", "invalid_type"),
        ({"schedule": {}}, "#/schedule", "required"),
        ({"schedule": []}, "#/schedule", "invalid_type"),
        ({"on_failure": "retry"}, "#/on_failure", "invalid_choice"),
        ({"priority": 10}, "#/priority", "out_of_range"),
        ({"payload": {}}, "#/payload", "unknown_field"),
        ({"status": "PAUSED"}, "#/status", "read_only"),
        ({"deadline_seconds": 0}, "#/deadline_seconds", "out_of_range"),
        ({"steps": []}, "#/steps", "out_of_range"),
        ({"steps": [calls(f"s{n}") for n in range(1001)]}, "#/steps", "out_of_range"),
        ({"steps": [calls("a", "b")]}, "#/steps/0/depends_on/0", "step_unknown"),
        ({"steps": [calls("a", "b"), calls("b", "a")]}, "#/steps/0/depends_on", "workflow_cycle"),
        ({"input_schema": {"type": "none"}}, "#/input_schema/type", "invalid"),
        (
            {"max_concurrent": 1, "schedule": {"every": "PT1H", "max_concurrent": 2}},
            "#/max_concurrent",
            "exclusive",
        ),
        (
            {"steps": [{"key": "a", "kind": "workflow", "workflow_id": CHILD[:-1] + "2"}]},
            "#/steps/0/workflow_id",
            "workflow_unknown",
        ),
    ],
)
def test_what_is_wrong_has_its_place_and_code(parts: dict[str, Any], pointer: str, code: str):
    assert (pointer, code) in problems(body(**parts))


@pytest.mark.parametrize("whole", [None, [], "x", {"steps": [None]}, {"name": "\x00"}])
def test_no_body_is_more_than_refused(whole: Any):
    assert problems(whole)


def test_steps_that_are_too_large_together_are_refused():
    with pytest.raises(TooLarge):
        parse(calls("a", payload="x" * 300_000))


def test_a_step_may_run_a_workflow_of_the_tenant():
    found = parse({"key": "a", "kind": "workflow", "workflow_id": CHILD})

    assert found.target["steps"][0]["workflow_id"] == CHILD


def test_a_key_keeps_its_number_over_versions():
    first = parse(calls("a"), calls("b"))

    second, _ = patch(first, steps=[calls("new"), calls("b")])
    third, _ = patch(second, steps=[calls("a"), calls("b")])

    assert second.target["numbers"] == {"a": 1, "b": 2, "new": 3}
    assert third.target["numbers"] == second.target["numbers"]


def test_an_edit_of_the_state_changes_no_definition():
    current = parse()

    assert patch(current, status="PAUSED") == (current, StatusChange.PAUSE)
    assert patch(current, priority=3)[0].priority == 3


def test_what_is_left_out_of_a_replacement_is_its_default():
    current = parse(priority=3, on_failure="continue")

    found = parse_workflow_replace(body(), now=NOW, limits=limits(), current=current)

    assert (found.priority, found.target["on_failure"]) == (5, "fail_fast")


def secret(url: str = "https://api.example.com/") -> dict[str, Any]:
    auth = {"type": "bearer", "token": "s3cret"}
    return {"key": "a", "target": {"url": url, "auth": auth}}


def test_secrets_are_masked_and_a_mask_that_comes_back_keeps_them():
    current = parse(secret())

    shown = workflow_fields(current)
    assert shown["steps"][0]["target"]["auth"]["token"] == MASK
    again = parse_workflow_replace(shown, now=NOW, limits=limits(), current=current)

    assert again == current
    assert workflow_fields(current, secrets=True)["steps"][0]["target"]["auth"]["token"] == "s3cret"


def test_a_kept_secret_does_not_follow_its_step_elsewhere():
    current = parse(secret())
    moved = workflow_fields(current)
    moved["steps"] = [secret("https://other.example.com/")]
    moved["steps"][0]["target"]["auth"]["token"] = MASK

    with pytest.raises(InvalidInput) as refused:
        parse_workflow_replace(moved, now=NOW, limits=limits(), current=current)

    assert [(one.pointer, one.code) for one in refused.value.errors] == [
        ("#/steps/0/target/auth/token", "secret_required")
    ]


def test_a_key_moves_with_its_secret():
    current = parse(secret(), calls("b"))
    shown = workflow_fields(current)
    shown["steps"].reverse()

    found = parse_workflow_replace(shown, now=NOW, limits=limits(), current=current)

    assert found.target["steps"][1]["target"]["auth"]["token"] == "s3cret"
