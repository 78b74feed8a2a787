"""The schedule of what runs only when it is asked to."""

from __future__ import annotations

from datetime import UTC, datetime

from tasks.schedules.never import NeverSpec
from tasks.schedules.spec import parse
from tasks.schedules.zones import find_zone


def test_it_expects_nothing_at_any_time():
    spec = NeverSpec(find_zone("Europe/Berlin"))

    assert spec.next_after(datetime(1970, 1, 1, tzinfo=UTC)) is None
    assert spec.between(datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC), 9) == []


def test_it_is_the_schedule_of_the_type_that_has_none():
    spec = parse("MANUAL", {"timezone": "Europe/Berlin"})

    assert spec.text == "Only when asked"
    assert spec.zone.name == "Europe/Berlin"
