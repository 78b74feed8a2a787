from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from dashboard.pictures.day_map import day_map, day_text
from insight.task_calendar import TaskCalendar, TaskDay
from tests.dashboard.pictures.reading import assert_keeps_the_rules, having, rows

#: A Friday.
DAY = date(2026, 11, 20)


def _day(number: int, **parts: Any) -> TaskDay:
    start = datetime(2026, 11, 20, tzinfo=UTC) + timedelta(days=number)
    fields = {"day": start.date(), "start": start, "end": start + timedelta(days=1), **parts}
    return TaskDay(**fields)


def _calendar(*days: TaskDay) -> TaskCalendar:
    return TaskCalendar("Europe/Berlin", days[0].start, days[0].day, list(days))


def _map(*days: TaskDay) -> str:
    return day_map(_calendar(*days), {one.day: f"?day={one.day}" for one in days})


def test_any_days_keep_the_rules():
    for count in (1, 8, 396):
        assert_keeps_the_rules(_map(*(_day(number, succeeded=number) for number in range(count))))


def test_each_day_is_a_link_and_the_map_one_stop_for_the_keyboard():
    cells = having(_map(_day(0, succeeded=3), _day(1)), "day-cell")

    assert [cell.get("href") for cell in cells] == ["?day=2026-11-20", "?day=2026-11-21"]
    assert [cell.get("tabindex") for cell in cells] == ["0", "-1"]
    assert cells[0].get("aria-current") == "date"


def test_how_a_day_went_is_its_class_and_its_marks():
    markup = _map(
        _day(0, succeeded=1),
        _day(1, succeeded=5, failed=1),
        _day(2, skipped=1, paused=True),
        _day(3, coming=2, excluded=True, change="the clocks go back 60 minutes"),
        _day(4),
    )

    kinds = [cell.get("class", "").split()[1] for cell in having(markup, "day-cell")]
    assert kinds == ["day-ok", "day-bad", "day-quiet", "day-coming", "day-empty"]
    marks = [sum("day-mark" in (one.get("class") or "") for one in cell)
             for cell in having(markup, "day-cell")]  # fmt: skip
    assert marks == [0, 1, 2, 2, 0]


def test_a_week_is_a_column_from_monday_on():
    cells = having(_map(*(_day(number) for number in range(4))), "heat-ground")

    columns = [cell.get("x") for cell in cells]
    assert columns[0] == columns[1] == columns[2] != columns[3]
    assert float(cells[3].get("y", "0")) < float(cells[0].get("y", "0"))


def test_the_words_of_a_day_say_everything():
    one = _day(0, succeeded=200, at_least=True, coming=None, paused=True, change="the clocks go")

    assert day_text(one) == (
        "Fri 2026-11-20: 200 succeeded, of the 200 that were counted, what is to come is not "
        "known, a pause leaves runs out, the clocks go"
    )
    assert day_text(_day(1)) == "Sat 2026-11-21: nothing"


def test_summary_and_table_count_days_and_what_is_to_come():
    markup = _map(_day(0, succeeded=2, failed=1, coming=1), _day(1, coming=200, at_least=True))

    assert "Of 1 day, 0 with successes only and 1 with failures" in markup
    assert "at least 201 runs to come in 30 days." in markup
    assert rows(markup)[1] == ["Fri 2026-11-20", "2", "1", "0", "0", "1", "–"]
    assert rows(markup)[0][-1] == "at least"
