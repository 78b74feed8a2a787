from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from tasks.definition import to_long
from tasks.models import Pause
from tasks.presentation import present_next, present_paused_by, present_task
from tasks.validation.bodies import parse_create
from tests.support.presented_tasks import TASK_ID, ATask
from tests.tasks.bodies import LIMITS, LONG, MINIMAL, NOW, create

RUN_ID = UUID("0199b6f0-0000-8000-8000-000000000002")


def test_a_task_is_answered_in_the_long_form_with_where_it_stands():
    definition = create(LONG)

    answer = present_task(ATask(), definition)

    assert {key: answer[key] for key in to_long(definition)} == to_long(definition)
    assert answer | {"schedule_text": ""} == to_long(definition) | {
        "id": str(TASK_ID),
        "status": "SCHEDULED",
        "version": 3,
        "next_execution": "2026-11-21T07:00:00.000Z",
        "next_execution_local": "2026-11-21T08:00:00.000+01:00",
        "next_execution_due_at": "2026-11-21T07:00:00.000Z",
        "schedule_text": "",
        "last_execution": None,
        "created_at": "2026-11-20T08:00:00.123Z",
        "updated_at": "2026-11-20T08:00:00.123Z",
        "paused_until": None,
        "pause_note": "",
        "paused_by": None,
    }


def test_a_schedule_is_said_in_plain_words():
    every = create(MINIMAL | {"schedule": {"every": "PT5M"}})

    assert "08:00" in present_task(ATask(), create(LONG))["schedule_text"]
    assert "5 minutes" in present_task(ATask(), every)["schedule_text"]


def test_the_last_execution_is_shown_once_there_is_one():
    task = replace(
        ATask(), last_execution_id=RUN_ID, last_execution_status="FAILED", last_execution_at=NOW
    )

    assert present_task(task, create(LONG))["last_execution"] == {
        "id": str(RUN_ID),
        "status": "FAILED",
        "at": "2026-11-20T08:00:00.123Z",
    }


def test_a_paused_task_says_until_when():
    task = replace(ATask(), status="PAUSED", paused_until=NOW, pause_note="migration")

    answer = present_task(task, create(LONG))

    assert (answer["paused_until"], answer["pause_note"]) == (
        "2026-11-20T08:00:00.123Z",
        "migration",
    )


def test_what_holds_a_task_is_named():
    pause = Pause(id=RUN_ID, scope="label", value="team:billing", note="Down.", until=NOW)

    assert present_paused_by(pause) == {
        "paused_by": {
            "id": str(RUN_ID),
            "scope": "label",
            "value": "team:billing",
            "note": "Down.",
            "until": "2026-11-20T08:00:00.123Z",
        }
    }
    assert present_paused_by(None) == {"paused_by": None}


def test_extra_fields_are_added_and_may_replace():
    extra: dict[str, Any] = {"executions": [], **present_next(None, "UTC")}

    answer = present_task(ATask(), create(LONG), extra=extra)

    assert answer["executions"] == []
    assert answer["next_execution"] is None
    assert answer["next_execution_local"] is None


def test_a_stored_schedule_that_no_longer_computes_is_shown_with_the_reason():
    definition = parse_create(MINIMAL, now=NOW, limits=LIMITS)
    broken = replace(definition, schedule=definition.schedule | {"cron_expression": "0 0 31 2 *"})

    answer = present_task(ATask(), broken)

    assert "never" in answer["schedule_text"]


def test_present_next_shows_the_instant_in_the_tasks_zone():
    assert present_next(NOW, "Asia/Tokyo") == {
        "next_execution": "2026-11-20T08:00:00.123Z",
        "next_execution_local": "2026-11-20T17:00:00.123+09:00",
        "next_execution_due_at": "2026-11-20T08:00:00.123Z",
    }


def test_a_one_time_schedule_is_said_to_the_second():
    run_ats = ("2026-12-24T08:00:00.999Z", "2026-12-24T08:00:00.001Z", "2026-12-24T08:00:01Z")
    tasks = [create(MINIMAL | {"schedule": {"run_at": at}}) for at in run_ats]

    texts = [present_task(ATask(), task)["schedule_text"] for task in tasks]

    assert texts == [f"Once at 2026-12-24 08:00:0{second}, UTC" for second in (0, 0, 1)]


def test_what_is_shown_is_not_changed_by_masking():
    definition = create(LONG)
    before = to_long(definition, secrets=True)

    present_task(ATask(), definition)

    assert to_long(definition, secrets=True) == before
