from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.workflow_text import LONGEST, read_text, write_text
from shared.exceptions import InvalidInput
from tasks.validation.workflow import parse_workflow, workflow_fields
from tests.support.workflows import calls
from tests.tasks.bodies import LIMITS

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize("text", ["on: [1, no]", '{"on": [1, "no"]}'])
def test_a_text_is_yaml_or_json(text: str):
    assert read_text(text) == {"on": [1, "no"]}


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("a: [1", "yaml_invalid", "line 1"),
        ("[" * 100 + "]" * 100, "json_too_deep", "64 levels"),
        ('{"a": NaN}', "json_invalid", "NaN"),
        ("x" * (LONGEST + 1), "too_long", "2,000,000"),
    ],
)
def test_what_is_neither_is_refused_with_its_place(text: str, code: str, words: str):
    with pytest.raises(InvalidInput) as refused:
        read_text(text)

    assert refused.value.errors[0].code == code
    assert words in refused.value.errors[0].message


def test_a_written_definition_is_read_as_the_same_one():
    body = {
        "name": "Flow: with a colon",
        "schedule": {"cron_expression": "0 2 * * *"},
        "on_failure": "compensate",
        "steps": [
            calls("a", payload={"text": "one\ntwo", "none": None, "at": "2026-11-20"}),
            calls("b", "a", condition="all_done", retry_policy={"max_attempts": 2}),
            calls("c", "b", compensate={"target": {"url": "https://api.example.com/undo"}}),
            calls("d", "a", for_each="{{ steps.a.output }}", min_success_share=0.5),
            {"key": "e", "kind": "approval", "timeout_seconds": 60},
            {"key": "f", "kind": "wait_for_event", "event": "paid"},
        ],
    }
    definition = parse_workflow(body, now=NOW, limits=LIMITS)

    text = write_text(workflow_fields(definition))

    assert parse_workflow(read_text(text), now=NOW, limits=LIMITS) == definition
    assert "connect_timeout_seconds" not in text
    assert "condition: all_success" not in text
