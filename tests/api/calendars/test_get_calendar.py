from __future__ import annotations

from tests.factories import make_task
from tests.support.calendars import make_calendar, under


def test_a_calendar_is_shown_with_its_days_and_how_many_tasks_name_it(client, alpha):
    calendar = make_calendar(alpha)
    make_task(alpha, under("Holidays"))

    answer = client.get(f"/v1/calendars/{calendar.id}")

    assert answer.status_code == 200
    assert answer["ETag"] == '"1"'
    shown = answer.json()
    assert [day["date"] for day in shown["dates"]] == ["2027-03-26", "2027-03-29"]
    assert shown["tasks"] == 1
