"""Pages, pictures, explanations and messages write times by one module, always with their zone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture import tree

_ROOT = tree.REPOSITORY
#: Modules whose texts people read, outside of commands (which speak UTC and say so).
_CODE = (
    *sorted((_ROOT / "dashboard").rglob("*.py")),
    *sorted((_ROOT / "executions" / "explain").rglob("*.py")),
    _ROOT / "notifications" / "message_content.py",
)
_TEMPLATES = sorted(
    path
    for folder in ("dashboard", "notifications")
    for path in (_ROOT / "templates" / folder).rglob("*.*")
)
#: What prints a time; a day without one is left alone.
_PRINTS = re.compile(
    r"strftime|\.localtime\(|\.isoformat\(|:.*%[HIMS]|tzname\(|formats\.(date|time)"
)
#: Filters that print a time; a field that holds one and is printed as it is.
_FILTERS = re.compile(r"\|\s*(date|time|timesince|timeuntil|localtime|timezone|utc)\b")
_NOW = re.compile(r"\{%\s*now (?!'U')")
_BARE = re.compile(
    r"\{\{\s*[\w.]+(_at|_until|\.until|\.due|\.oldest|\.newest|\.last_seen|\.first_seen|\.at)\s*\}\}"
)


def test_no_presenter_writes_a_time_by_itself():
    assert list(_found(_CODE, _PRINTS)) == []


def test_no_template_writes_a_time_by_itself():
    found = [*_found(_TEMPLATES, _FILTERS), *_found(_TEMPLATES, _NOW), *_found(_TEMPLATES, _BARE)]

    assert found == []


def test_each_field_for_date_and_time_says_whose_clock_it_means():
    unlabelled = []
    for path in _TEMPLATES:
        text = path.read_text()
        for place in re.finditer(r'type="datetime-local"', text):
            around = text[max(0, place.start() - 260) : place.end() + 40]
            if not re.search(r"zone", around):
                unlabelled.append((path.name, text.count("\n", 0, place.start()) + 1))

    assert unlabelled == []


def _found(paths: tuple[Path, ...] | list[Path], pattern: re.Pattern[str]) -> Iterator[str]:
    for path in paths:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if pattern.search(line):
                yield f"{path.relative_to(_ROOT)}:{number}: {line.strip()[:120]}"
