"""The form of a calendar: days and windows as lines of text, to and from the API's body.

A line is `2027-01-01 New Year` or `2026-11-20T22:00Z 2026-11-21T02:00Z Patching`. An error names
the number of its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shared.exceptions import FieldError
from tasks.calendar_content import Content

#: ISO weekdays with their names.
WEEKDAYS = (
    (1, "Monday"),
    (2, "Tuesday"),
    (3, "Wednesday"),
    (4, "Thursday"),
    (5, "Friday"),
    (6, "Saturday"),
    (7, "Sunday"),
)
_NEW: dict[str, Any] = {
    "name": "",
    "description": "",
    "weekend": [6, 7],
    "dates": "",
    "windows": "",
}
_WITHOUT_SECONDS = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(?=[Zz+-])", re.ASCII)
_PLACE = re.compile(r"#/(dates|windows)/(\d+)")


def form_of(content: Content | None) -> dict[str, Any]:
    """Return the fields of a calendar's form; those of a new one without a calendar."""
    if content is None:
        return dict(_NEW)
    windows = (
        f"{_shown(one['start'])} {_shown(one['end'])} {one['name']}" for one in content.windows
    )
    return {
        "name": content.name,
        "description": content.description,
        "weekend": list(content.weekend),
        "dates": "\n".join(f"{one['date']} {one['name']}".rstrip() for one in content.dates),
        "windows": "\n".join(line.rstrip() for line in windows),
    }


def fields_of(sent: Any) -> dict[str, Any]:
    """Return the fields as they were sent."""
    return {
        **{name: sent.get(name, "") for name in ("name", "description", "dates", "windows")},
        "weekend": [day for day, _ in WEEKDAYS if str(day) in sent.getlist("weekend")],
    }


def body_of(fields: Mapping[str, Any], *, named: bool) -> dict[str, Any]:
    """Return the API's body; ``named`` for a new calendar, because others keep their names."""
    body: dict[str, Any] = {
        "description": fields["description"].strip(),
        "weekend": fields["weekend"],
        "dates": [_date(line) for _, line in _lines(fields["dates"])],
        "windows": [_window(line) for _, line in _lines(fields["windows"])],
    }
    return {"name": fields["name"].strip(), **body} if named else body


def errors_of(fields: Mapping[str, Any], errors: list[FieldError]) -> dict[str, str]:
    """Return messages by field, each with the number of its line."""
    found: dict[str, str] = {}
    for error in errors:
        place = _PLACE.match(error.pointer)
        name = error.pointer.lstrip("#/").partition("/")[0] or "form"
        message = error.message
        if place:
            number = _lines(fields[name])[int(place[2])][0]
            message = f"Line {number}: {message}"
        found.setdefault(name, message)
    return found


def _lines(text: str) -> list[tuple[int, str]]:
    """Return the lines that are not blank, with their numbers."""
    numbered = enumerate(text.splitlines(), 1)
    return [(number, line.strip()) for number, line in numbered if line.strip()]


def _date(line: str) -> dict[str, str]:
    day, _, name = line.partition(" ")
    return {"date": day, "name": name.strip()}


def _window(line: str) -> dict[str, str]:
    start, end, name = [*_WITHOUT_SECONDS.sub(r"\1T\2:00", line).split(None, 2), "", "", ""][:3]
    return {"start": start, "end": end, "name": name}


def _shown(moment: str) -> str:
    return re.sub(r"(:00)?\.000Z$", "Z", moment)
