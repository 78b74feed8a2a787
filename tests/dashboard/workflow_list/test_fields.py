"""The fields that the list has for each kind of step."""

from __future__ import annotations

import pytest

from dashboard.workflow_list.fields import fields_of_target, kind_of, step_parts, workflow_parts
from tasks.choices import STEP_KINDS, TARGET_KINDS
from tasks.validation.steps import COMMON_FIELDS, FIELDS_BY_KIND
from tasks.validation.workflow import FIELDS

#: Fields of a step that stand in its target, or that the list has another name for.
_ELSEWHERE = {"kind", "pool", "timeout_seconds"}


def paths(parts):
    return {one.path for part in parts for one in part.fields}


@pytest.mark.parametrize("kind", [kind for kind in STEP_KINDS if kind != "target"])
def test_the_list_has_every_field_of_a_kind_without_a_target(kind):
    shown = {path[0] for path in paths(step_parts({"key": "a", "kind": kind}))}

    assert shown >= {*COMMON_FIELDS, *FIELDS_BY_KIND[kind]} - {"kind"}


@pytest.mark.parametrize("kind", TARGET_KINDS)
def test_the_list_has_every_field_of_a_step_that_calls(kind):
    shown = paths(step_parts({"key": "a", "target": {"kind": kind}}))

    names = {path[0] for path in shown}
    assert names >= {*COMMON_FIELDS, *FIELDS_BY_KIND["target"]} - _ELSEWHERE
    inside = {path[1] for path in shown if path[0] == "target"}
    missing = fields_of_target(kind) - inside - {"kind"}
    # These are shown as text only.
    assert missing == ({"auth", "tls", "proxy", "template"} if kind == "webhook" else set())


def test_the_list_has_every_field_of_the_workflow_but_its_steps():
    shown = {path[0] for path in paths(workflow_parts({"schedule": {"every": "P1D"}}))}

    assert shown == {*FIELDS} - {"steps"}


def test_a_field_of_the_target_is_shown_where_the_step_has_it():
    step = {"key": "a", "timeout_seconds": 5, "target": {"kind": "handler", "handler": "h"}}

    assert ("timeout_seconds",) in paths(step_parts(step))
    assert ("target", "timeout_seconds") not in paths(step_parts(step))


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ({}, "webhook"),
        ({"target": {"kind": "pool"}}, "pool"),
        ({"kind": "delay", "target": {"kind": "pool"}}, "delay"),
        ({"kind": 7}, "7"),
        ({"target": 7}, "webhook"),
    ],
)
def test_the_kind_is_that_of_the_target_where_a_step_calls_one(step, kind):
    assert kind_of(step) == kind
    assert step_parts(step)
