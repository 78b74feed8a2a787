from __future__ import annotations

from dashboard.task_form.form import form_of, read_form

FIELDS = {
    "when": "cron",
    "cron_expression": "0 8 * * *",
    "kind": "webhook",
    "url": "https://x.example",
}


def test_targets_are_read_as_numbers_and_shown_again():
    targets = read_form({**FIELDS, "start_within_seconds": "60"})["targets"]

    assert targets == {"start_within_seconds": 60, "max_duration_seconds": None}
    shown = form_of({"target": {}, "targets": targets})
    assert shown["start_within_seconds"] == "60"
    assert "max_duration_seconds" not in shown
