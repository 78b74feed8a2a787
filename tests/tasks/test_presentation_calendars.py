from __future__ import annotations

from tasks import calendars
from tasks.presentation_calendars import present_calendar, present_summary
from tests.support.calendars import EASTER, make_calendar


def test_a_calendar_is_shown_with_its_days_or_with_their_number(alpha):
    calendar = make_calendar(alpha)

    full = present_calendar(calendar, 3)
    short = present_summary(calendars.summaries(alpha.id).get(), 3)

    assert [one["date"] for one in full["dates"]] == EASTER
    assert (short["date_count"], short["window_count"]) == (2, 0)
    assert {key: full[key] for key in full if key in short} == {
        key: short[key] for key in short if key in full
    }
