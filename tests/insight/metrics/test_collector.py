"""Scrapes of one moment share one reading."""

from __future__ import annotations

import pytest

from insight.metrics import collector, reading
from insight.metrics.collector import Busy, Collector
from insight.metrics.reading import SOURCE_UP, Sample


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each reading in place of making it."""
    done: list[str] = []

    def noted(sources: object) -> list[Sample]:
        done.append("slow" if sources is reading.SLOW else "quick")
        metric = "punctual_workflow_runs_open" if sources is reading.SLOW else "queue_depth"
        labels = () if sources is reading.SLOW else ("due",)
        return [
            Sample(metric, labels, len(done)),
            Sample(SOURCE_UP, ("postgresql",), 1.0),
        ]

    monkeypatch.setattr(reading, "read", noted)
    return done


def test_ten_scrapes_of_one_second_read_once(read: list[str]):
    clock = Time()
    found = Collector(clock)

    texts = {found.scrape("") for _ in range(10)}

    assert (len(texts), read) == (1, ["quick", "slow"])


def test_the_next_second_reads_anew_without_what_changes_slowly(read: list[str]):
    clock = Time()
    found = Collector(clock)
    found.scrape("")
    clock.now += 1.0
    found.scrape("")

    assert read == ["quick", "slow", "quick"]


def test_what_changes_slowly_is_read_again_after_a_while(read: list[str]):
    clock = Time()
    found = Collector(clock)
    found.scrape("")
    clock.now += collector.SLOW_SECONDS
    found.scrape("")

    assert read == ["quick", "slow"] * 2


def test_both_formats_come_from_one_reading(read: list[str]):
    found = Collector(Time())
    plain, _ = found.scrape("")
    _, content_type = found.scrape("application/openmetrics-text")

    assert content_type.startswith("application/openmetrics-text")
    assert b"queue_depth" in plain
    assert read == ["quick", "slow"]


def test_texts_are_kept_by_format_and_not_by_what_callers_ask(read: list[str]):
    found = Collector(Time())
    for number in range(50):
        found.scrape(f"text/plain;q=0.{number}")

    for number in range(50):
        found.scrape(f"application/openmetrics-text;version=1.0.{number}")

    assert found._latest is not None
    assert len(found._latest.texts) == 2


def test_a_scrape_beside_one_that_hangs_is_busy_and_gets_no_former_reading(
    read: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(collector, "_PATIENCE_SECONDS", 0.0)
    found = Collector(Time())
    # Another process may have told more since: a total that falls counts again from zero.
    found.scrape("")

    with found._lock, pytest.raises(Busy):
        found.scrape("")
