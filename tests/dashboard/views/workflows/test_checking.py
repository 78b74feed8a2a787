"""The check of a workflow's text."""

from __future__ import annotations

import json

import pytest

from tasks.limits import STEP_DEPENDENCIES, STEPS
from tasks.models import Task
from tests.dashboard.views.workflows.texts import TEXT


def test_the_check_draws_the_graph_and_tells_the_schedule(browser, alpha):
    answer = browser(alpha).post("/workflows/check", {"definition": TEXT})

    assert answer.context["schedule_text"] == "Only when asked"
    assert [(one.key, one.depends_on) for one in answer.context["dag"]] == [("a", ()), ("b", (1,))]
    assert "<svg" in answer.text
    assert not Task.objects.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "appears here"),
        ("a: [", "This is not YAML"),
        ("[]", "object"),
        ("name: x", "Give the steps"),
        ("name: x\nsteps: 7", "list"),
        ("name: x\nsteps: [7]", "#/steps/0"),
        (
            '{"name": "x", "steps": [{"key": "a", "kind": "approval", "depends_on": ["a"]}]}',
            "a → a",
        ),
    ],
)
def test_the_check_says_what_is_wrong(browser, alpha, text, words):
    answer = browser(alpha).post("/workflows/check", {"definition": text})

    assert answer.status_code == 200
    assert words in answer.text


def test_the_graph_is_drawn_of_what_is_right_beside_what_is_wrong(browser, alpha):
    text = TEXT + "  - {key: c, depends_on: [b, nowhere], kind: approval}\n  - 7\n"

    answer = browser(alpha).post("/workflows/check", {"definition": text})

    assert "error-text" in answer.text
    assert [(one.key, one.depends_on) for one in answer.context["dag"]] == [
        ("a", ()),
        ("b", (1,)),
        ("c", (2,)),
    ]


@pytest.mark.parametrize(
    "steps",
    [
        [{"key": f"s{n}"} for n in range(STEPS + 1)],
        [
            *({"key": f"s{n}"} for n in range(STEP_DEPENDENCIES + 1)),
            {"key": "last", "depends_on": [f"s{n}" for n in range(STEP_DEPENDENCIES + 1)]},
        ],
    ],
)
def test_more_than_a_workflow_may_have_is_not_drawn(browser, alpha, steps):
    text = json.dumps({"name": "x", "steps": steps})

    answer = browser(alpha, role="viewer").post("/workflows/check", {"definition": text})

    assert answer.context["errors"]
    assert answer.context["dag"] == []
