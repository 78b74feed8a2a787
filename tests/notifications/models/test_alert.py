"""An alert in one line."""

from __future__ import annotations

import pytest

from notifications.models import Alert


@pytest.mark.parametrize(
    ("count", "tasks", "attempt", "title"),
    [
        (1, 1, 5, "nightly: HTTP 503 from x after 5 attempts"),
        (1, 1, 1, "nightly: HTTP 503 from x after 1 attempt"),
        (344, 1, 5, "344 failures: nightly: HTTP 503 from x"),
        (344, 12, 5, "344 failures: 12 tasks: HTTP 503 from x"),
    ],
)
def test_the_title_says_how_much_failed_and_why(
    count: int, tasks: int, attempt: int, title: str
) -> None:
    alert = Alert(
        kind="final_failure",
        task_name="nightly",
        cause="HTTP 503 from x",
        count=count,
        task_count=tasks,
        attempt=attempt,
    )

    assert alert.title == title


@pytest.mark.parametrize(
    ("kind", "task", "title"),
    [
        ("failures_in_a_row", "nightly", "3 failures in a row: nightly: HTTP 503 from x"),
        ("budget_exceeded", "nightly", "nightly: HTTP 503 from x"),
        ("circuit_open", "", "HTTP 503 from x"),
    ],
)
def test_the_title_of_other_kinds_says_what_it_is_about(kind: str, task: str, title: str) -> None:
    assert Alert(kind=kind, task_name=task, cause="HTTP 503 from x", count=3).title == title
