from __future__ import annotations

from uuid import uuid4

from tests.factories import make_client, make_task
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


def test_another_tenants_calendar_is_404(client, stranger, alpha):
    calendar = make_calendar(alpha)

    assert stranger.get(f"/v1/calendars/{calendar.id}").status_code == 404
    assert client.get(f"/v1/calendars/{uuid4()}").status_code == 404


def test_a_key_needs_the_scope_read(alpha, nobody):
    path = f"/v1/calendars/{make_calendar(alpha).id}"

    assert nobody.get(path).status_code == 401
    assert make_client(alpha, ["operate"]).get(path).status_code == 403
