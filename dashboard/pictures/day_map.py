"""Draws the days of a task: columns are weeks, past days by how they ended, coming ones hollow.

Failures have a notch beside their colour; a pause is two bars, a calendar's exception a slash, a
change of the clocks a ring. Each day is a link to its executions, or to its coming instants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, joined, link, number, plural, tag
from insight.task_calendar import AHEAD_DAYS, MOST_A_DAY, TaskCalendar, TaskDay

_SIDE, _STEP = 15.0, 18.0
_LEFT, _TOP = 34.0, 18.0
_WEEKDAYS = ("Mon", "", "Wed", "", "Fri", "", "Sun")
#: From this number of executions on, a day is drawn fuller.
_LEVELS = (10, 100)
_LEGEND = (
    ("day-ok", "all succeeded"),
    ("day-bad", "some failed"),
    ("day-quiet", "skipped or cancelled only"),
    ("day-coming", "to come"),
)
_MARKS = (("day-paused", "pause"), ("day-excluded", "calendar"), ("day-clock", "clocks change"))


def day_map(found: TaskCalendar, links: Mapping[date, str]) -> SafeString:
    """Return the map, its legend and its table of days on which something happens.

    ``links`` has the address of each day.
    """
    summary = _summary(found)
    first = found.days[0].day
    begin = first - timedelta(days=first.weekday())
    weeks = (found.days[-1].day - begin).days // 7 + 1
    width, height = _LEFT + weeks * _STEP, _TOP + 7 * _STEP
    cells = joined(
        _cell(one, _place(one, begin), links[one.day], is_today=one.day == found.today)
        for one in found.days
    )
    drawing = tag(
        "svg",
        {
            "class": "day-map",
            "viewBox": f"0 0 {number(width)} {number(height)}",
            "width": number(width),
            "height": number(height),
            "role": "group",
            "aria-label": summary,
            "data-roving": "",
        },
        _weekdays(),
        _months(found, begin),
        cells,
    )
    scroll = tag("div", {"class": "picture-wide day-scroll"}, drawing)
    rows = [_row(one) for one in reversed(found.days) if _happens(one)]
    head = (f"Day ({found.zone})", "Succeeded", "Failed", "Cancelled", "Skipped", "To come", "")
    return figure("days", "Past and coming days", summary, scroll, _legend(),
                  table=Table(head, rows))  # fmt: skip


def _place(one: TaskDay, begin: date) -> tuple[float, float]:
    days = (one.day - begin).days
    return _LEFT + days // 7 * _STEP, _TOP + days % 7 * _STEP


def _cell(one: TaskDay, place: tuple[float, float], href: str, *, is_today: bool) -> SafeString:
    x, y = place
    text = day_text(one)
    box = {"x": x, "y": y, "width": _SIDE, "height": _SIDE, "rx": 2}
    attributes: dict[str, str | int | float | None] = {
        "class": f"day-cell {_kind(one)}" + (" today" if is_today else ""),
        "aria-label": text,
        "aria-current": "date" if is_today else None,
        "tabindex": 0 if is_today else -1,
    }
    return link(
        href,
        attributes,
        tag("title", {}, text),
        tag("rect", {"class": "heat-ground", **box}),
        tag("rect", {"class": f"day-fill level-{_level(one)}", **box}),
        *(tag("path", {"class": "day-mark", "d": d}) for d in _marks(one, x, y)),
        tag("rect", {"class": "hit", **box}),
    )


def _kind(one: TaskDay) -> str:
    if one.failed:
        return "day-bad"
    if one.succeeded:
        return "day-ok"
    if one.cancelled or one.skipped:
        return "day-quiet"
    return "day-coming" if one.coming else "day-empty"


def _level(one: TaskDay) -> int:
    count = one.succeeded + one.failed or one.coming or 0
    return 1 + sum(count >= least for least in _LEVELS)


def _marks(one: TaskDay, x: float, y: float) -> Sequence[str]:
    right, bottom = x + _SIDE, y + _SIDE
    found = []
    if one.failed:
        found.append(_path((right - 6, y), (right, y), (right, y + 6)) + "z")
    if one.paused:
        found += [_path((x + at, y + 4), (x + at, bottom - 4)) for at in (5.5, 9.5)]
    elif one.excluded:
        found.append(_path((x + 3, bottom - 3), (right - 3, y + 3)))
    if one.change:
        found.append(f"M{number(x + 2)} {number(bottom - 4)}a2 2 0 1 0 4 0a2 2 0 1 0 -4 0")
    return found


def _path(*points: tuple[float, float]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def day_text(one: TaskDay) -> str:
    """Return a day in words: what ended on it, what is to come, what keeps it from running."""
    counts = (
        (one.succeeded, "succeeded"),
        (one.failed, "failed"),
        (one.cancelled, "cancelled"),
        (one.skipped, "skipped"),
        (one.coming or 0, "to come"),
    )
    parts = [f"{count:,} {word}" for count, word in counts if count]
    if one.at_least:
        parts.append(f"of the {MOST_A_DAY} that were counted")
    if one.coming is None:
        parts.append("what is to come is not known")
    parts += [
        words
        for words, holds in (
            ("a pause leaves runs out", one.paused),
            ("a calendar leaves runs out", one.excluded),
            (one.change, bool(one.change)),
        )
        if holds
    ]
    return f"{one.day:%a %Y-%m-%d}: {', '.join(parts) or 'nothing'}"


def _happens(one: TaskDay) -> bool:
    counted = one.succeeded + one.failed + one.cancelled + one.skipped + (one.coming or 0)
    return bool(counted or one.paused or one.excluded or one.change)


def _row(one: TaskDay) -> tuple[str, ...]:
    marks = [
        word
        for word, holds in (
            ("at least", one.at_least),
            ("pause", one.paused),
            ("calendar", one.excluded),
            (one.change, bool(one.change)),
        )
        if holds
    ]
    coming = "not known" if one.coming is None else f"{one.coming:,}"
    counts = (one.succeeded, one.failed, one.cancelled, one.skipped)
    shown = (f"{count:,}" for count in counts)
    return (f"{one.day:%a %Y-%m-%d}", *shown, coming, ", ".join(marks) or "–")


def _summary(found: TaskCalendar) -> str:
    failed = sum(one.failed > 0 for one in found.days)
    succeeded = sum(one.succeeded > 0 and not one.failed for one in found.days)
    coming = [one.coming or 0 for one in found.days]
    more = any(one.at_least and one.coming for one in found.days)
    ahead = ("at least " if more else "") + plural(sum(coming), "run")
    past = plural(sum(one.day <= found.today for one in found.days), "day")
    return (
        f"Of {past}, {succeeded:,} with successes only and {failed:,} with failures; "
        f"{ahead} to come in {AHEAD_DAYS} days."
    )


def _weekdays() -> SafeString:
    return joined(
        tag(
            "text",
            {"class": "tick at-start", "x": 0, "y": _TOP + row * _STEP + 12, "aria-hidden": "true"},
            name,
        )
        for row, name in enumerate(_WEEKDAYS)
        if name
    )


def _months(found: TaskCalendar, begin: date) -> SafeString:
    labels: list[SafeString] = []
    free = 0.0
    for one in found.days:
        x, _ = _place(one, begin)
        if (one.day.day == 1 or one is found.days[0]) and x >= free:
            name = f"{one.day:%b}" if one.day.month > 1 else f"{one.day:%Y}"
            place: dict[str, str | int | float | None] = {"x": x, "y": 11, "aria-hidden": "true"}
            labels.append(tag("text", {"class": "tick at-start", **place}, name))
            free = x + 2 * _STEP
    return joined(labels)


def _legend() -> SafeString:
    keys = [
        tag("li", {}, tag("span", {"class": f"key {css}", "aria-hidden": "true"}), word)
        for css, word in (*_LEGEND, *_MARKS)
    ]
    return tag("ul", {"class": "legend day-legend"}, *keys)
