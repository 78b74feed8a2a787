from __future__ import annotations

import json
from datetime import date

from tasks.ical.found import SHOWN, Found, Remarks, Source
from tests.tasks.schedules.instants import utc


def test_what_was_found_passes_as_json():
    event = Source(3, "Name", "uid")
    found = Found([(date(2026, 1, 1), event)], [(utc("2026-01-01"), utc("2026-01-02"), event)])
    found.skipped.add(Source(9), "why")
    found.notes.add(event, "what")

    assert Found.load(json.loads(json.dumps(found.dump()))) == found


def test_of_many_remarks_the_first_lines_are_listed_and_all_are_counted():
    remarks = Remarks()
    for line in range(5000, 0, -1):
        remarks.add(Source(line), "why")

    remarks.sort()

    assert remarks.count == 5000
    assert [one.source.line for one in remarks.shown] == list(range(1, SHOWN + 1))
    assert remarks.shown[0].present() == {"line": 1, "name": "", "uid": "", "reason": "why"}
