from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest

from api.workflows import schemas
from insight.presentation.workflows import present_workflow
from shared.exceptions import InvalidInput
from shared.payload_sight import sight
from tasks.validation.workflow import parse_workflow, parse_workflow_patch, workflow_fields
from tests.factories import make_tenant
from tests.support.workflows import make_workflow
from tests.tasks.bodies import LIMITS, NOW

HOOK = {"url": "https://api.example.com/x"}
POLICY = {"max_attempts": 2}
STEPS: dict[str, dict[str, Any]] = {
    "target": {"key": "a", "target": HOOK, "payload": {"n": 1}, "retry_policy": POLICY},
    "fan-out": {"key": "a", "target": HOOK, "for_each": [1, 2], "max_parallel": 2},
    "compensated": {"key": "a", "target": HOOK, "compensate": {"target": HOOK}},
    "in place": {"key": "a", "target": HOOK, "timeout_seconds": 5, "priority": 7},
    "workflow": {
        "key": "a",
        "kind": "workflow",
        "workflow_id": "0199b6f0-0000-7000-8000-000000000001",
    },
    "delay": {"key": "a", "kind": "delay", "delay_seconds": 5},
    "event": {"key": "a", "kind": "wait_for_event", "event": "paid", "correlation": "x"},
    "approval": {"key": "a", "kind": "approval", "timeout_seconds": 60},
    "deadline": {"key": "a", "kind": "approval", "deadline_at": "06:00"},
}
FLOWS: dict[str, dict[str, Any]] = {
    "short": {"name": "Flow", "steps": [STEPS["target"]]},
    "with a schedule": {"name": "Flow", "steps": [STEPS["target"]], "schedule": {"every": "PT1H"}},
    "once": {"name": "Flow", "steps": [STEPS["target"]], "schedule": {"delay_seconds": 5}},
    "with all options": {
        "name": "Flow",
        "steps": [STEPS["target"], {**STEPS["delay"], "key": "b", "depends_on": ["a"]}],
        "on_failure": "continue",
        "schedule": None,
        "input_schema": {"type": "object"},
        "max_concurrent": 2,
        "deadline_seconds": 60,
        "labels": {"team": "data"},
        "priority": 1,
        "owner": "ops@example.com",
    },
    **{kind: {"name": "Flow", "steps": [step]} for kind, step in STEPS.items()},
}


def fits(schema, value):
    return jsonschema_rs.Draft202012Validator(schema).is_valid(value)


def parse(body):
    known = replace(LIMITS, workflows=frozenset)
    return parse_workflow(body, now=NOW, limits=known)


@pytest.mark.parametrize(
    "schema", [schemas.WORKFLOW_CREATE, schemas.WORKFLOW_EDIT, schemas.WORKFLOW]
)
def test_every_schema_is_one(schema):
    assert jsonschema_rs.meta.is_valid(schema)


@pytest.mark.parametrize("body", FLOWS.values(), ids=FLOWS)
def test_what_is_taken_fits_the_schema_and_so_does_its_normal_form(body):
    definition = parse(body)

    assert fits(schemas.WORKFLOW_CREATE, body)
    again = workflow_fields(definition)
    assert parse(again) == definition


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [key for key in FLOWS if key != "workflow"])
def test_what_is_answered_fits_the_schema(kind):
    parts = dict(FLOWS[kind])
    task = make_workflow(make_tenant(), parts.pop("steps"), **parts)

    with sight(False):
        hidden = present_workflow(task)
    assert fits(schemas.WORKFLOW, present_workflow(task))
    assert fits(schemas.WORKFLOW, hidden)


@pytest.mark.parametrize(
    "changes",
    [
        {"steps": []},
        {"steps": [{}]},
        {"steps": [{"key": "1x", "target": HOOK}]},
        {"steps": [{"key": "a"}]},
        {"steps": [{"key": "a", "kind": "delay"}]},
        {"steps": [{"key": "a", "kind": "lambda"}]},
        {"steps": [{**STEPS["target"], "condition": "sometimes"}]},
        {"steps": [{**STEPS["target"], "max_parallel": 501}]},
        {"steps": [{**STEPS["approval"], "target": HOOK}]},
        {"on_failure": "compensate-all"},
        {"priority": 10},
        {"schedule": {"every": "PT1H", "cron_expression": "* * * * *"}},
        {"deadline_at": "6 o'clock"},
        {"payload": 1},
    ],
)
def test_what_is_refused_for_its_shape_does_not_fit_the_schema(changes):
    body = {**FLOWS["short"], **changes}

    with pytest.raises(InvalidInput):
        parse(body)
    assert not fits(schemas.WORKFLOW_CREATE, body)


@pytest.mark.parametrize(
    "edit",
    [
        {"name": "New"},
        {"schedule": {"every": "PT1H"}},
        {"schedule": None},
        {"labels": {"team": None}},
        {"status": "PAUSED"},
        {"steps": [STEPS["delay"]]},
        {"max_concurrent": None},
    ],
)
def test_an_edit_that_is_taken_fits_the_schema(edit):
    current = parse(FLOWS["with all options"])

    parse_workflow_patch(edit, now=NOW, limits=LIMITS, current=current)

    assert fits(schemas.WORKFLOW_EDIT, edit)
