from __future__ import annotations

import pytest

from executions.changes.pauses import Wanted, reach_of
from insight.presentation.pauses import present_pause, present_pauses, present_reach
from shared.instants import parse_instant
from tests.executions.changes.standing import end, stand
from tests.factories import make_task

pytestmark = pytest.mark.django_db


def test_an_open_pause_is_shown_with_what_it_covers_and_holds(alpha):
    until = parse_instant("2099-01-01T00:00:00Z")
    made = stand(alpha, note="Down.", on_resume="replay", until=until)

    shown = present_pause(made, 3)

    assert shown == {
        "id": str(made.id),
        "scope": "label",
        "value": "team:billing",
        "note": "Down.",
        "on_resume": "replay",
        "until": "2099-01-01T00:00:00.000Z",
        "task_count": 3,
        "created_by": "test",
        "created_at": shown["created_at"],
        "ended_by": None,
        "ended_at": None,
    }


def test_many_are_counted_in_one_query(alpha, django_assert_num_queries):
    make_task(alpha)
    first, second = stand(alpha), stand(alpha, "tenant", "")
    end(second)
    second.refresh_from_db()

    with django_assert_num_queries(1):
        shown = present_pauses([first, second])

    assert [one["task_count"] for one in shown] == [1, 0]
    assert (shown[1]["ended_by"], shown[1]["ended_at"] is not None) == ("test", True)


def test_a_dry_run_shows_the_value_as_it_is_compared_and_the_first_tasks(alpha):
    tasks = [make_task(alpha) for _ in range(6)]

    shown = present_reach(
        "destination", reach_of(alpha.id, Wanted("destination", "API.example.com"))
    )

    assert (shown["scope"], shown["value"], shown["task_count"]) == (
        "destination",
        "api.example.com",
        6,
    )
    assert shown["sample"][0] == {
        "id": str(tasks[0].id),
        "name": tasks[0].name,
        "status": "SCHEDULED",
    }
    assert len(shown["sample"]) == 5
