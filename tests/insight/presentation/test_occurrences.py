from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from insight.occurrences import Entry, Page, Place
from insight.presentation.occurrences import (
    present_line,
    present_occurrence,
    present_occurrences,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_an_instant_is_shown_by_its_fields_and_notes():
    entry = Entry(NOON, "SKIPPED", "calendar_excluded", UUID(int=1), ("dst_gap",))

    assert present_occurrence(entry) == {
        "scheduled_for": "2026-11-20T12:00:00.000Z",
        "status": "SKIPPED",
        "reason": "calendar_excluded",
        "execution_id": str(UUID(int=1)),
        "due_at": None,
        "notes": ["dst_gap"],
    }


def test_nothing_is_null_and_not_an_empty_text():
    shown = present_occurrence(Entry(NOON, "EXPECTED"))

    assert (shown["reason"], shown["execution_id"]) == (None, None)


def test_a_stretch_as_one_line_has_its_end_and_count():
    shown = present_line(Entry(NOON, "SKIPPED", "paused", last=NOON + timedelta(1), count=7))

    assert (shown["last"], shown["count"]) == ("2026-11-21T12:00:00.000Z", 7)


def test_a_page_says_where_the_next_one_begins():
    page = Page([Entry(NOON, "EXPECTED")], Place(NOON, NOON, NOON), "abc")

    shown = present_occurrences(page, 1)

    assert len(shown["occurrences"]) == 1
    assert shown["pagination"] == {"limit": 1, "next_cursor": "abc"}
