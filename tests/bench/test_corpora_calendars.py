from __future__ import annotations

from typing import Any

import pytest

from bench.corpora_calendars import PACKAGES, judge
from bench.corpora_packages import File

EVENT = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VEVENT\nEND:VCALENDAR\n"
LEFT_OUT = [{"line": 2, "reason": "it has no DTSTART"}]


def judged(content: bytes, status: int, **imported: Any):
    answer = {"dates": 0, "windows": 0, "skipped_count": 0, "skipped": [], "notes_count": 0}
    document = {"imported": {**answer, **imported}} if status == 200 else {"detail": "no"}
    file = File(PACKAGES[0], "a.ics", content)
    return judge(file, lambda *_: (status, document), "id")


@pytest.mark.parametrize(
    ("content", "status", "imported", "outcome"),
    [
        (EVENT, 200, {"dates": 1}, "imported"),
        (
            EVENT,
            200,
            {"dates": 1, "skipped_count": 1, "skipped": LEFT_OUT},
            "imported, some left out",
        ),
        (EVENT, 200, {"skipped_count": 1, "skipped": LEFT_OUT}, "all left out"),
        (b"BEGIN:VCALENDAR\n", 200, {}, "empty"),
        (b"BEGIN:VEVENT\n", 400, {}, "no iCalendar file"),
    ],
)
def test_a_file_that_is_imported_or_named_keeps_the_promise(content, status, imported, outcome):
    found = judged(content, status, **imported)

    assert (found.outcome, found.breach) == (outcome, "")


@pytest.mark.parametrize(
    ("content", "status", "imported", "breach"),
    [
        (EVENT, 400, {}, "status 400"),
        (EVENT, 500, {}, "status 500"),
        (b"hello", 500, {}, "status 500"),
        (EVENT, 200, {}, "its events gave nothing"),
        (EVENT, 200, {"skipped_count": 2, "skipped": LEFT_OUT}, "not listed"),
        (EVENT, 200, {"skipped_count": 1, "skipped": [{"line": 2, "reason": ""}]}, "not named"),
        (EVENT.decode().encode("utf-16"), 400, {}, "status 400"),
    ],
)
def test_a_file_that_is_refused_or_passed_over_breaks_the_promise(
    content, status, imported, breach
):
    assert breach in judged(content, status, **imported).breach
