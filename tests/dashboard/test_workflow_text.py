from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dashboard.workflow_text import LONGEST, read_text, without_defaults, write_text
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
            calls("g", "a", redact=["$.card", "$.items[-1]"]),
            {"key": "e", "kind": "approval", "timeout_seconds": 60},
            {"key": "f", "kind": "wait_for_event", "event": "paid"},
        ],
    }
    definition = parse_workflow(body, now=NOW, limits=LIMITS)

    text = write_text(without_defaults(workflow_fields(definition)))

    assert parse_workflow(read_text(text), now=NOW, limits=LIMITS) == definition
    assert "connect_timeout_seconds" not in text
    assert "condition: all_success" not in text
    written = "schedule:\n  cron_expression: 0 2 * * *\n  timezone: UTC\n  jitter_seconds: 0\n"
    assert text.endswith(written)


def test_a_limit_of_runs_is_written_once_and_every_other_value_of_a_schedule_is_kept():
    schedule = {
        "every": "PT15M",
        "dst_gap": "skip",
        "misfire_policy": "replay",
        "misfire_replay_limit": 3,
        "jitter_seconds": 5,
        "timezone": "Europe/Berlin",
        "end_at": "2027-01-01T00:00:00Z",
    }
    body = {"name": "Flow", "schedule": schedule, "max_concurrent": 2, "steps": [calls("a")]}
    definition = parse_workflow(body, now=NOW, limits=LIMITS)

    written = without_defaults(workflow_fields(definition))

    assert written["schedule"] == {**schedule, "end_at": "2027-01-01T00:00:00.000Z"}
    assert written["max_concurrent"] == 2
    assert parse_workflow(written, now=NOW, limits=LIMITS) == definition


def test_masked_fields_a_budget_and_a_key_are_kept_and_not_written_where_there_are_none():
    parts: dict[str, Any] = {
        "redact": ["$.card.number"],
        "budget": [{"unit": "runs", "limit": 10, "per": "day"}],
        "concurrency": {"key": "crm", "max": 2},
        "targets": {"start_within_seconds": 60},
    }
    body = {"name": "Flow", "schedule": {"every": "PT15M"}, "steps": [calls("a")]}
    with_parts = parse_workflow({**body, **parts}, now=NOW, limits=LIMITS)
    without = parse_workflow(body, now=NOW, limits=LIMITS)

    written = without_defaults(workflow_fields(with_parts))

    assert parse_workflow(read_text(write_text(written)), now=NOW, limits=LIMITS) == with_parts
    assert written["redact"] == parts["redact"]
    assert written["budget"] == parts["budget"]
    assert written["concurrency"] == {**parts["concurrency"], "order": "any"}
    assert written["targets"]["start_within_seconds"] == 60
    assert not without_defaults(workflow_fields(without)).keys() & parts.keys()


def test_a_definition_that_is_too_long_as_yaml_is_written_as_json():
    body = {"name": "Flow", "steps": [[[["x"] * 100] * 100] * 20]}

    text = write_text(body)

    assert text.startswith('{"name"')
    assert len(text) < LONGEST
    assert read_text(text) == body
