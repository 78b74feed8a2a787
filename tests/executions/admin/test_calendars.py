from __future__ import annotations

import pytest

from tasks.models import Calendar
from tests.support.admin import text_of
from tests.support.calendars import EASTER, make_calendar

pytestmark = pytest.mark.django_db


def test_calendars_of_every_tenant_are_listed_and_shown(browser, alpha, beta):
    calendar = make_calendar(alpha, description="Ours")
    make_calendar(beta, "Maintenance")

    words = text_of(browser.list(Calendar))
    assert "Holidays" in words
    assert "Maintenance" in words
    page = browser.page(calendar)
    assert EASTER[0] in text_of(page)
    assert f"/settings/calendars/{calendar.id}" in page.text
