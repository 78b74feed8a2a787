from __future__ import annotations

import pytest

from dashboard.task_form.form import field_errors, form_of, read_form
from shared.exceptions import InvalidInput

FIELDS = {
    "when": "cron",
    "cron_expression": "0 8 * * *",
    "kind": "webhook",
    "url": "https://x.example",
}
RUNS = {"unit": "runs", "limit": 100, "per": "day"}


def test_a_line_is_an_entry():
    body = read_form({**FIELDS, "budget": "100 runs per day\r\n2.5 eur a month\n\n7 tokens"})

    assert body["budget"] == [
        RUNS,
        {"unit": "eur", "limit": 2.5, "per": "month"},
        {"unit": "tokens", "limit": 7},
    ]


@pytest.mark.parametrize("line", ["runs", "many runs per day", "1 2 3", "nan", "100 runs per"])
def test_another_line_is_refused_at_its_field(line: str):
    with pytest.raises(InvalidInput) as refused:
        read_form({**FIELDS, "budget": line})

    assert "Line 1" in field_errors(refused.value.errors)["budget"]


def test_a_stored_budget_is_shown_and_kept():
    base = {"schedule": {"cron_expression": "0 8 * * *"}, "target": {"url": "x"}, "budget": [RUNS]}
    shown = form_of(base)

    assert shown["budget"] == "100 runs per day"
    assert read_form(shown, base)["budget"] == [RUNS]


def test_a_task_that_runs_once_has_none():
    fields = {**FIELDS, "when": "after", "delay_seconds": "5", "budget": "100 runs per day"}

    assert "budget" not in read_form(fields)
