from __future__ import annotations

from tests.tasks.schedules.instants import next_at, once, utc


def test_it_comes_once():
    spec = once("2026-12-31 08:00")

    assert spec.kind == "once"
    assert next_at(spec, utc("2026-01-01 00:00")) == utc("2026-12-31 08:00")
    assert spec.next_after(utc("2026-12-31 08:00")) is None


def test_its_text_tells_the_local_time():
    spec = once("2026-12-31 08:00", timezone="Europe/Berlin")

    assert spec.text == "Once at 2026-12-31 09:00:00, Europe/Berlin"


def test_decades_ahead_it_comes_to_the_millisecond():
    for year in (2037, 2038, 2060, 2199):
        at = f"{year}-06-15 08:00:00.123"
        spec = once(at, timezone="America/New_York")

        assert next_at(spec, utc("2026-01-01 00:00")) == utc(at)
        assert spec.next_after(utc(at)) is None
