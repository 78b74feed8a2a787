"""Draws the number of starts by hour and day of a week, each cell a link to its minutes.

Days are rows, hours of the day are columns, in the visitor's zone. A day on which the clocks
change is marked: a skipped hour has no cell, an hour that comes twice has two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, joined, link, plural, tag

_LEVELS = 5
#: Hours whose counts differ by less than this factor have one quiet colour: nothing stands out.
_EVEN, _EVEN_LEVEL = 1.25, 2
_COLUMNS = 24
_LEFT, _TOP = 96.0, 22.0
_WIDTH, _HEIGHT = 30.0, 26.0
_SIDE_X, _SIDE_Y = 28.0, 24.0
_RADIUS = 3
#: Labels of hours: every third.
_LABELLED = 3


@dataclass(frozen=True, slots=True)
class HourCell:
    """The starts of one local hour of a day; ``hot`` when a hot spot is in it."""

    hour: int
    count: int
    href: str
    hot: bool = False
    here: bool = False


@dataclass(frozen=True, slots=True)
class DayRow:
    """A day with the hours of it that are in the forecast; ``change`` of the clocks in words."""

    day: date
    cells: Sequence[HourCell]
    change: str = ""


def heat_map(rows: Sequence[DayRow], *, complete: bool = True) -> SafeString:
    """Return the week, its legend and its table; counts that are not complete are lower bounds."""
    summary = _summary(rows, complete=complete)
    counts = [cell.count for row in rows for cell in row.cells if cell.count]
    strongest = max(counts, default=0)
    is_even = bool(counts) and strongest <= min(counts) * _EVEN
    first = next((cell for row in rows for cell in row.cells), None)
    width = _LEFT + _COLUMNS * _WIDTH
    height = _TOP + len(rows) * _HEIGHT
    drawing = tag(
        "svg",
        {
            "class": "heat-map",
            "viewBox": f"0 0 {width:.0f} {height:.0f}",
            "role": "group",
            "aria-label": summary,
            "data-roving": "",
        },
        _hours(),
        *(_row(row, place, 0 if is_even else strongest, first) for place, row in enumerate(rows)),
    )
    scroll = tag("div", {"class": "picture-wide"}, drawing)
    return figure(
        "heat-map",
        "The next 7 days",
        summary,
        scroll,
        _legend(strongest, least=min(counts) if is_even else 0),
        table=_table(rows),
    )


def _hours() -> SafeString:
    return joined(
        tag(
            "text",
            {
                "class": "tick at-start",
                "x": _LEFT + hour * _WIDTH,
                "y": _TOP - 8,
                "aria-hidden": "true",
            },
            f"{hour:02d}:00",
        )
        for hour in range(0, _COLUMNS, _LABELLED)
    )


def _row(row: DayRow, place: int, strongest: int, first: HourCell | None) -> SafeString:
    y = _TOP + place * _HEIGHT
    label = tag(
        "text",
        {"class": "tick at-start day", "x": 0, "y": y + _SIDE_Y - 7},
        f"{row.day:%a %m-%d}{' ±' if row.change else ''}",
        *([tag("title", {}, row.change)] if row.change else []),
    )
    cells = joined(_cell(cell, row, y, strongest, in_order=cell is first) for cell in row.cells)
    return joined([label, cells])


def _cell(cell: HourCell, row: DayRow, y: float, strongest: int, *, in_order: bool) -> SafeString:
    text = f"{row.day:%a %m-%d} {cell.hour:02d}:00: {plural(cell.count, 'start')}"
    text += ", with a hot spot" if cell.hot else ""
    attributes: dict[str, str | int | float | None] = {
        "class": "hour here" if cell.here else "hour",
        "aria-label": text,
        "aria-current": "true" if cell.here else None,
        "tabindex": 0 if in_order else -1,
    }
    box = {"x": _LEFT + cell.hour * _WIDTH, "y": y, "width": _SIDE_X, "height": _SIDE_Y}
    centre = {"cx": _LEFT + cell.hour * _WIDTH + _SIDE_X - 6, "cy": y + 6, "r": _RADIUS}
    return link(
        cell.href,
        attributes,
        tag("title", {}, text),
        tag("rect", {"class": "heat-ground", **box, "rx": 3}),
        tag("rect", {"class": f"heat heat-{_level(cell.count, strongest)}", **box, "rx": 3})
        if cell.count
        else "",
        tag("circle", {"class": "hot-mark", **centre}) if cell.hot else "",
        tag("rect", {"class": "hit", **box, "rx": 3}),
    )


def _level(count: int, strongest: int) -> int:
    if not strongest:
        return _EVEN_LEVEL
    # The root makes quiet hours visible beside a midnight of thousands.
    return max(1, math.ceil(math.sqrt(count / strongest) * _LEVELS))


def _legend(strongest: int, *, least: int) -> SafeString:
    """Return the keys; where ``least`` is given, one for a load that is nearly even."""
    if not strongest:
        return joined(())
    keys = []
    low = least or 1
    for level in (_EVEN_LEVEL,) if least else range(1, _LEVELS + 1):
        high = strongest if least else math.floor(strongest * (level / _LEVELS) ** 2)
        if high < low:
            continue
        told = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        key = tag("span", {"class": f"key heat-key heat-key-{level}", "aria-hidden": "true"})
        keys.append(tag("li", {}, key, told))
        low = high + 1
    hot = tag("span", {"class": "key hot-key", "aria-hidden": "true"})
    keys.append(tag("li", {}, hot, "first minute of a hot spot"))
    return tag("ul", {"class": "legend", "aria-label": "Starts an hour"}, *keys)


def _summary(rows: Sequence[DayRow], *, complete: bool) -> str:
    cells = [(row, cell) for row in rows for cell in row.cells]
    total = sum(cell.count for _, cell in cells)
    if not total:
        return "Nothing starts in the next 7 days."
    row, busiest = max(cells, key=lambda item: item[1].count)
    at_least = "" if complete else "At least "
    changes = "".join(f" {row.day:%a %m-%d}: {row.change}." for row in rows if row.change)
    return (
        f"{at_least}{plural(total, 'start')}; most in the hour from {row.day:%a %m-%d} "
        f"{busiest.hour:02d}:00 with {busiest.count:,}.{changes}"
    )


def _table(rows: Sequence[DayRow]) -> Table:
    listed = []
    for row in rows:
        by_hour = {cell.hour: f"{cell.count:,}" for cell in row.cells}
        hours = [by_hour.get(hour, "–") for hour in range(_COLUMNS)]
        listed.append((f"{row.day:%a %Y-%m-%d}{' ±' if row.change else ''}", *hours))
    return Table(("Day", *(f"{hour:02d}:00" for hour in range(_COLUMNS))), listed)
