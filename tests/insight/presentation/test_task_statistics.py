from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from insight.presentation.task_statistics import present_calendar, present_history
from insight.statistics.of_task import Cause, Figures, Part, Percentiles, TaskHistory
from insight.task_calendar import TaskCalendar, TaskDay
from shared.ids import first_id_at

AT = datetime(2026, 11, 20, 8, tzinfo=UTC)
TOLD = "2026-11-20T08:00:00.000Z"


def test_the_history_is_told_with_its_bounds():
    figures = Figures(4, 2, 1, Percentiles(1.5, 2), Percentiles(None, None))
    cause = Cause("timeout", None, 1, first_id_at(AT))
    found = TaskHistory("7d", AT, AT, AT, False, 60, figures, [Part(AT, Figures())], [cause])

    told = present_history(found)

    assert (told["window"], told["window_from"], told["from"], told["to"]) == (
        *("7d", TOLD),
        *(TOLD, TOLD),
    )
    assert (told["complete"], told["part_seconds"]) == (False, 60)
    assert told["total"]["success_share"] == 0.666667
    assert told["total"]["start_delay_ms"] == {"p50": 1.5, "p95": 2}
    assert told["parts"][0]["at"] == TOLD
    assert told["parts"][0]["success_share"] is None
    assert told["causes"] == [
        {
            "error_code": "timeout",
            "response_status": None,
            "count": 1,
            "last_at": TOLD,
            "last_execution_id": str(UUID(int=first_id_at(AT).int)),
        }
    ]


def test_the_calendar_is_told_day_by_day():
    day = TaskDay(AT.date(), AT, AT, succeeded=1, coming=None, change="the clocks go back")

    told = present_calendar(TaskCalendar("Europe/Berlin", AT, AT.date(), [day]))

    assert (told["timezone"], told["today"], told["at"]) == ("Europe/Berlin", "2026-11-20", TOLD)
    assert told["days"][0]["coming"] is None
    assert told["days"][0]["succeeded"] == 1
    assert told["days"][0]["clock_change"] == "the clocks go back"
