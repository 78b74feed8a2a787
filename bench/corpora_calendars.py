"""Real iCalendar files, each imported by a call of the API into a calendar of its own.

Kept is: no answer but 200, or 400 for a file without BEGIN:VCALENDAR; every file with events gives
days or names what was left out; each is answered within the time.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from bench.corpora_packages import File, Package
from bench.corpora_verdict import Verdict
from bench.installation import Installation

SUFFIX = ".ics"
#: Fewer would be no sample of what programs write.
LEAST = 200
#: For one file: its own ten seconds, four times on a busy machine.
SECONDS = 40.0
PACKAGES = (
    Package(
        "PyPI",
        "icalendar",
        "7.3.0",
        "icalendar-7.3.0-py3-none-any.whl",
        "8355acfe17be81b368f0b1e3740817cea9b56ea889931f8f1a87c62f2d28db0b",
    ),
    Package(
        "PyPI",
        "recurring-ical-events",
        "3.8.2",
        "recurring_ical_events-3.8.2-py3-none-any.whl",
        "9ad605e27b4fbeb70ee1c66205ade32550be15a57cedc579606522f1c67aef6d",
    ),
    Package(
        "npm",
        "ical",
        "0.8.0",
        "ical-0.8.0.tgz",
        "d81b62635d8a0a0a90a337163ebf42c5fb2eb9292db40ccacfbd575b875d1f54",
    ),
    Package(
        "npm",
        "icalendar",
        "0.7.1",
        "icalendar-0.7.1.tgz",
        "cdd027272105db2625962620d8477c1ad6d9a2ead99c024e308cffb4d1ee49b2",
    ),
    Package(
        "npm",
        "cal-parser",
        "1.0.2",
        "cal-parser-1.0.2.tgz",
        "68f887e490ecdf1f58779d56be5040dae615083b656c845e8237f4ec73bfd107",
    ),
)

#: From method, path, body and its type to status and answer.
Call = Callable[[str, str, bytes, str], tuple[int, Any]]


def judge_all(found: list[File], product: Installation) -> Iterator[Verdict]:
    """Import each file, and yield what came of it."""
    call = caller(product.base_url, product.api_key)
    body = json.dumps({"name": "Corpus"}).encode()
    status, made = call("POST", "/v1/calendars", body, "application/json")
    if status != 201:
        raise OSError(f"the calendar was not made: {status} {made}")
    for file in found:
        yield judge(file, call, made["id"])


def judge(file: File, call: Call, calendar: str) -> Verdict:
    """Import one file in the place of the one before."""
    begin = time.monotonic()
    path = f"/v1/calendars/{calendar}/import?mode=replace"
    status, answer = call("POST", path, file.content, "text/calendar")
    seconds = time.monotonic() - begin
    imported = answer.get("imported", {}) if status == 200 else {}
    taken = imported.get("dates", 0) + imported.get("windows", 0)
    left_out = imported.get("skipped_count", 0)
    return Verdict(
        package=str(file.package),
        path=file.path,
        outcome=_outcome(status, taken, left_out),
        seconds=round(seconds, 2),
        breach=_breach(file, status, answer, seconds),
        details={"taken": taken, "left_out": left_out, "notes": imported.get("notes_count", 0)},
    )


def _outcome(status: int, taken: int, left_out: int) -> str:
    if status != 200:
        return "no iCalendar file" if status == 400 else f"status {status}"
    if not left_out:
        return "imported" if taken else "empty"
    return "imported, some left out" if taken else "all left out"


def _breach(file: File, status: int, answer: Any, seconds: float) -> str:
    """Return which promise the answer breaks, or nothing."""
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    is_calendar = b"BEGIN:VCALENDAR" in file.content.replace(b"\0", b"").upper()
    if status == 400 and not is_calendar:
        return ""
    if status != 200:
        return f"status {status}: {str(answer)[:200]}"
    imported = answer["imported"]
    listed = imported["skipped"]
    if any(one["line"] < 1 or not one["reason"] for one in listed):
        return "something that was left out is not named"
    if len(listed) != min(100, imported["skipped_count"]):
        return "what was left out is not listed"
    events = b"BEGIN:VEVENT" in file.content.replace(b"\0", b"").upper()
    if events and not imported["dates"] + imported["windows"] + imported["skipped_count"]:
        return "its events gave nothing, and none is named"
    return ""


def caller(base_url: str, api_key: str) -> Call:
    """Return the function that calls the API of an installation."""
    place = urlsplit(base_url)

    def call(method: str, path: str, body: bytes, kind: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)
        headers = {"Authorization": f"Bearer {api_key}", "Content-Type": kind}
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    return call
