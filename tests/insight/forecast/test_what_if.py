from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from executions.changes.changing import cancel_task
from insight.forecast import what_if
from insight.forecast.what_if import COUNT, preview_edit
from shared.exceptions import Conflict, InvalidInput, NotFound, VersionMismatch
from shared.instants import parse_instant
from tasks.editing import first_instant
from tasks.models import Task
from tests.factories import ACTOR, TARGET, daily, make_task, once, reload
from tests.support.cursors import change_task
from tests.support.recounting import recounts

#: No clock of Europe/Berlin changes in the months after it.
NOW = datetime(2026, 11, 20, 8, 0, 0, tzinfo=UTC)


def recurring(**schedule: Any) -> dict[str, Any]:
    return {"schedule": schedule, "target": TARGET}


def task_with(tenant: Any, **schedule: Any) -> Task:
    """Return a task as if it had been made before NOW."""
    task = make_task(tenant, recurring(**schedule))
    task.created_at = NOW - timedelta(hours=1)
    task.next_run_at = first_instant(task, NOW)
    task.save()
    return reload(task)


def edit(task: Task, body: Any, **parts: Any) -> dict[str, Any]:
    return preview_edit(task.tenant_id, task.id, body, now=NOW, **parts)


def changes(found: dict[str, Any]) -> set[str]:
    return {one["change"] for one in found["occurrences"]}


def test_what_stays_what_comes_and_what_goes(alpha):
    task = task_with(alpha, cron_expression="0 */2 * * *")

    found = edit(task, {"schedule": {"cron_expression": "0 */3 * * *"}})

    shown = [(one["utc"][11:16], one["change"]) for one in found["occurrences"][:4]]
    assert shown == [("09:00", "added"), ("12:00", "kept"), ("15:00", "added"), ("18:00", "kept")]
    assert [at[11:16] for at in found["removed"][:3]] == ["10:00", "14:00", "16:00"]
    assert len(found["occurrences"]) == COUNT
    assert max(found["removed"]) <= found["occurrences"][-1]["utc"]
    assert found["runs_per_day"] == {"before": 12.0, "after": 8.0}
    assert found["text"] != found["text_before"]


def test_an_edit_of_something_else_keeps_every_instant(alpha):
    task = task_with(alpha, cron_expression="0 8 * * *", timezone="Europe/Berlin")

    found = edit(task, {"priority": 1, "schedule": {"jitter_seconds": 30}})

    assert changes(found) == {"kept"}
    assert found["removed"] == []
    assert found["text"].startswith(f"{found['text_before']}, spread over up to 30 s: this task ")
    assert found["occurrences"][0]["local"] == "2026-11-21T08:00:00.000+01:00"


def test_nothing_is_changed(alpha):
    task = task_with(alpha, cron_expression="0 8 * * *")

    edit(task, {"schedule": {"cron_expression": "0 9 * * *"}, "status": "PAUSED"})

    found = reload(task)
    assert (found.version, found.schedule["cron_expression"]) == (1, "0 8 * * *")


def test_a_rate_goes_on_from_its_own_beginning(alpha):
    task = task_with(alpha, every="PT10M")

    assert changes(edit(task, {"schedule": {"every": "PT20M"}})) == {"kept"}


@pytest.mark.parametrize(
    ("schedule", "per_day"),
    [
        ({"cron_expression": "* * * * * *"}, 86_400),
        ({"every": "PT7S"}, 12_343),
        ({"cron_expression": "* 9 * * *"}, 60),
        ({"cron_expression": "0 9 * * mon"}, 0.143),
        ({"cron_expression": "0 9 1 * *"}, 0.033),
        ({"run_at": "2026-12-01T08:00:00Z"}, None),
        ({"cron_expression": "0 9 * * *", "end_at": "2026-11-20T08:30:00Z"}, 0),
    ],
)
@recounts("preview.runs_per_day")
def test_the_runs_of_a_day_are_told(alpha, schedule, per_day):
    task = task_with(alpha, cron_expression="0 8 * * *")

    assert edit(task, {"schedule": schedule, "type": _type(schedule)})["runs_per_day"] == {
        "before": 1.0,
        "after": per_day,
    }


def _type(schedule: dict[str, Any]) -> str:
    return "ONE_TIME" if "run_at" in schedule else "RECURRING"


def test_max_occurrences_counts_what_has_run(alpha):
    task = task_with(alpha, cron_expression="0 8 * * *", max_occurrences=10)
    change_task(task.pk, occurrence_count=4)

    found = edit(reload(task), {"schedule": {"max_occurrences": 6}})

    assert len(found["occurrences"]) == 2
    assert len(found["removed"]) == 4


@recounts("preview.runs_per_day")
def test_the_load_of_the_new_minutes_leaves_out_the_task_itself(alpha, beta):
    task = make_task(alpha)
    for _ in range(3):
        make_task(alpha, daily(schedule={"cron_expression": "0 9 * * *"}))
    make_task(beta, daily(schedule={"cron_expression": "0 9 * * *"}))
    now = task.created_at

    own = preview_edit(alpha.id, task.id, {"priority": 1}, now=now)["busiest_minute"]
    moved = {"schedule": {"cron_expression": "0 9 * * *", "timezone": "UTC"}}
    new = preview_edit(alpha.id, task.id, moved, now=now)["busiest_minute"]

    assert (own["others"], new["others"]) == (0, 3)
    assert parse_instant(new["at"]).hour == 9


def test_the_load_of_a_large_tenant_is_not_added_up(alpha, monkeypatch):
    monkeypatch.setattr(what_if, "_MOST_TASKS", 0)

    assert edit(make_task(alpha), {"priority": 1})["busiest_minute"] is None


def test_the_tasks_of_a_tenant_are_counted_for_the_first_of_many_previews_alone(alpha):
    task = make_task(alpha)
    edit(task, {"priority": 1})

    with CaptureQueriesContext(connection) as asked:
        assert edit(task, {"priority": 2})["busiest_minute"] is not None

    assert not [query for query in asked if "COUNT(" in query["sql"]]


def test_what_never_runs_again_shows_nothing(alpha):
    task = make_task(alpha, once())

    found = preview_edit(
        alpha.id, task.id, {"priority": 1}, now=task.created_at + timedelta(days=1)
    )

    assert (found["occurrences"], found["removed"], found["busiest_minute"]) == ([], [], None)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"schedule": {"cron_expression": "61 * * * *"}}, InvalidInput),
        ({"oops": 1}, InvalidInput),
        ([], InvalidInput),
    ],
)
def test_what_saving_would_refuse_is_refused(alpha, body, error):
    with pytest.raises(error):
        edit(make_task(alpha), body)


def test_a_stale_version_and_another_tenants_task_are_refused(alpha, beta):
    task = make_task(alpha)

    with pytest.raises(VersionMismatch):
        edit(task, {"priority": 1}, expected_version=2)
    with pytest.raises(NotFound):
        preview_edit(beta.id, task.id, {"priority": 1}, now=NOW)


@pytest.mark.parametrize("status", ["PAUSED", "SCHEDULED"])
def test_an_ended_task_cannot_be_paused_or_resumed(alpha, status):
    task = make_task(alpha)
    cancel_task(alpha.id, task.id, actor=ACTOR)

    with pytest.raises(Conflict):
        edit(task, {"status": status})
