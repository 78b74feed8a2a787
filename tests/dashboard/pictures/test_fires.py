from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dashboard.pictures.fires import FireMinute, fire_histogram
from tests.dashboard.pictures.reading import (
    assert_keeps_the_rules,
    having,
    parsed,
    rows,
    texts,
)

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def _minutes(*counts: int, href: str | None = "/executions?due=1") -> list[FireMinute]:
    return [FireMinute(AT + timedelta(minutes=n), one, href) for n, one in enumerate(counts)]


@pytest.mark.parametrize("counts", [(), (0,), (1,), (0, 10**9, 1)])
def test_any_minutes_keep_the_rules(counts: tuple[int, ...]):
    assert_keeps_the_rules(fire_histogram(_minutes(*counts)))


def test_each_busy_minute_is_a_link_with_words():
    markup = fire_histogram(_minutes(0, 412, 1))

    links = having(markup, "fire")
    assert [one.get("aria-label") for one in links] == [
        "08:01 UTC: 412 starts",
        "08:02 UTC: 1 start",
    ]
    assert [one.get("tabindex") for one in links] == ["0", "-1"]


def test_without_addresses_it_is_an_image():
    markup = fire_histogram(_minutes(3, href=None))

    assert [one.get("role") for one in having(markup, "plot")] == ["img"]
    assert not list(parsed(markup).iter("a"))


def test_the_summary_names_the_fullest_minute():
    (summary,) = texts(fire_histogram(_minutes(0, 412, 1)), "picture-summary")

    assert summary == "413 starts in 3 minutes; most at 08:01 UTC with 412."
    assert texts(fire_histogram(_minutes(0)), "picture-summary") == ["Nothing starts in 1 minute."]


def test_counts_that_are_no_exact_ones_are_marked_and_say_of_when_they_are():
    markup = fire_histogram(_minutes(0, 412), sign="≈", counted_at=AT)

    (summary,) = texts(markup, "picture-summary")
    assert summary == (
        "≈ 412 starts in 2 minutes; most at 08:01 UTC with ≈ 412. Counted at 08:00:00 UTC."
    )


def test_the_table_lists_busy_minutes_only():
    assert rows(fire_histogram(_minutes(0, 412, 0))) == [["08:01 UTC", "412", "List"]]
