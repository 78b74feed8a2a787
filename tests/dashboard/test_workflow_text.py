from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dashboard.workflow_text import LONGEST, read_text, write_text
from shared.exceptions import InvalidInput
from tasks.validation.workflow import parse_workflow, workflow_fields
from tests.support.workflows import calls
from tests.tasks.bodies import LIMITS

NOW = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("on: no", {"on": "no"}),
        ("a: 2026-11-20", {"a": "2026-11-20"}),
        ("a: 0x10", {"a": "0x10"}),
        ("a: ~\nb:\nc: null", {"a": None, "b": None, "c": None}),
        ("a: true\nb: 1.5\nc: 1e3", {"a": True, "b": 1.5, "c": 1000.0}),
        ("1: x", {"1": "x"}),
        ("- [a, {b: c}]", [["a", {"b": "c"}]]),
        ('{"a": [1, "x"]}', {"a": [1, "x"]}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
    ],
)
def test_yaml_and_json_are_read_as_what_json_has(text: str, value: Any):
    assert read_text(text) == value


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("a: [1", "yaml_invalid", "line 1"),
        ("a: 1\na: 2", "yaml_invalid", "twice at line 2"),
        ("a: &x [1]\nb: *x", "yaml_invalid", "aliases are refused"),
        ("a: !!python/object:os.system x", "yaml_invalid", "could not determine"),
        ("? [a]\n: b", "yaml_invalid", "a key is no text"),
        ("a: 1\n---\nb: 2", "yaml_invalid", "document"),
        ("a: \x01", "yaml_invalid", "character"),
        ("a: " + "9" * 30, "number_out_of_range", "64 bits"),
        ("a: " + "9" * 5000, "number_out_of_range", "too long"),
        ("[" * 100 + "]" * 100, "json_too_deep", "64 levels"),
        ("a: " + "[" * 20_000 + "]" * 20_000, "json_too_deep", "nested"),
        ("a: " + "[" * 100 + "]" * 100, "json_too_deep", "64 levels"),
        ('{"a": NaN}', "json_invalid", "NaN"),
        ("x" * (LONGEST + 1), "too_long", "2,000,000"),
    ],
)
def test_what_json_cannot_say_is_refused_with_its_place(text: str, code: str, words: str):
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
