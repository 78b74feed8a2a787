from __future__ import annotations

import io
import json
from dataclasses import asdict

import pytest

from tasks.ical import child
from tests.tasks.ical.files import NOW, PATIENT, calendar


@pytest.fixture(autouse=True)
def _without_limits_of_the_kernel(monkeypatch):
    monkeypatch.setattr(child, "_bound", lambda seconds: None)


def ask(raw: bytes):
    request = {"now": NOW.isoformat(), "charset": "", "limits": asdict(PATIENT)}
    answer = io.BytesIO()
    child.main(io.BytesIO(json.dumps(request).encode() + b"\n" + raw), answer)
    return json.loads(answer.getvalue())


def test_a_request_is_answered_with_what_the_file_says():
    assert ask(calendar("DTSTART:20261225"))["dates"] == [["2026-12-25", 0]]


def test_what_is_no_icalendar_file_is_answered_with_its_line():
    answer = ask(b"hello")

    assert answer["line"] == 1
    assert "BEGIN:VCALENDAR" in answer["problem"]
