"""Draws the last runs of a task as a strip of bars: height is duration, shape and colour state.

Rows of tasks use the compact form, the task's page the full one with its table. Heights are on
one logarithmic scale, so that strips can be compared with each other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from dashboard.pictures.badge import state_badge
from dashboard.pictures.markup import Table, figure, joined, link, number, plural, tag
from dashboard.state_vocabulary import look_of
from executions.choices import Status
from shared.clock_text import clock_text
from shared.duration_words import duration_text

BARS = 30
_STEP, _WIDTH, _HEIGHT = 8.0, 6.0, 28.0
_LOWEST = 5.0
#: Bars end at ten minutes; above, the text tells the difference.
_LONGEST_MS = 600_000
_HOLLOW = frozenset({Status.PENDING, Status.CANCELLED, Status.SKIPPED})


@dataclass(frozen=True, slots=True)
class RunBar:
    """One execution of the strip, oldest first; ``duration_ms`` is None until it has ended."""

    state: str
    at: datetime
    duration_ms: float | None = None
    href: str | None = None


def run_strip(bars: Sequence[RunBar], *, compact: bool = False) -> SafeString:
    """Return the strip of at most the last 30 runs, the newest at the right."""
    shown = list(bars)[-BARS:]
    summary = _summary(shown)
    drawing = _drawing(shown, summary)
    if compact:
        return drawing
    table = Table(("Scheduled for", "State", "Duration", "Execution"), [_row(bar) for bar in shown])
    return figure("runs", "Last runs", summary, drawing, table=table)


def _drawing(bars: Sequence[RunBar], summary: str) -> SafeString:
    # Bars end at the right, so that the newest runs of all rows are in one line.
    first = BARS - len(bars)
    width = number(BARS * _STEP)
    floor = tag("rect", {"class": "strip-floor", "width": width, "height": 1, "y": _HEIGHT - 1})
    drawn = joined(
        _bar(bar, (first + place) * _STEP, in_tab_order=place == len(bars) - 1)
        for place, bar in enumerate(bars)
    )
    # An image hides its parts from assistive technology; a group lets the links be reached.
    role = "group" if any(bar.href for bar in bars) else "img"
    return tag(
        "svg",
        {
            "class": "run-strip",
            "viewBox": f"0 0 {width} {number(_HEIGHT)}",
            "role": role,
            "aria-label": summary,
            "data-roving": "",
        },
        floor,
        drawn,
    )


def _bar(bar: RunBar, x: float, *, in_tab_order: bool) -> SafeString:
    text = _text(bar)
    area = tag("rect", {"class": "hit", "x": x, "width": _STEP, "height": _HEIGHT})
    shape = tag("path", {"class": "bar", "d": _shape(bar, x + (_STEP - _WIDTH) / 2)})
    attributes = {
        "class": f"run {look_of(bar.state).css}" + (" hollow" if bar.state in _HOLLOW else ""),
        "aria-label": text if bar.href else None,
        # One stop per strip; arrow keys go on from there.
        "tabindex": (0 if in_tab_order else -1) if bar.href else None,
    }
    return link(bar.href, attributes, tag("title", {}, text), area, shape)


def _shape(bar: RunBar, x: float) -> str:
    """Return the outline: whole, notched, split, slabs or hollow, so that colour is not alone."""
    top, right, bottom = _HEIGHT - 1 - _height(bar), x + _WIDTH, _HEIGHT - 1
    middle = (top + bottom) / 2
    if bar.state == Status.FAILED:
        notch = f"L{number(x + _WIDTH / 2)} {number(top + _WIDTH * 0.75)}"
        return (
            f"M{number(x)} {number(bottom)}V{number(top)}{notch}"
            f"L{number(right)} {number(top)}V{number(bottom)}z"
        )
    if bar.state == Status.RETRYING:
        return _box(x, middle + 1, right, bottom) + _box(x, top, right, middle - 1)
    if bar.state in (Status.QUEUED, Status.RUNNING):
        return "".join(
            _box(x, bottom - step - 2.5, right, bottom - step) for step in (0.0, 4.0, 8.0)
        )
    if bar.state in _HOLLOW:
        hollow = _box(x + 0.5, top + 0.5, right - 0.5, bottom - 0.5)
        if bar.state == Status.CANCELLED:
            hollow += f"M{number(x)} {number(bottom)}L{number(right)} {number(top)}"
        return hollow
    return _box(x, top, right, bottom)


def _box(left: float, top: float, right: float, bottom: float) -> str:
    return f"M{number(left)} {number(bottom)}V{number(top)}H{number(right)}V{number(bottom)}z"


def _height(bar: RunBar) -> float:
    if bar.state in _HOLLOW and bar.duration_ms is None:
        return 9.0
    spent = min(max(bar.duration_ms or 0.0, 1.0), _LONGEST_MS)
    return _LOWEST + (_HEIGHT - 1 - _LOWEST) * math.log(spent) / math.log(_LONGEST_MS)


def _text(bar: RunBar) -> str:
    at = clock_text(bar.at)
    spent = "" if bar.duration_ms is None else f", {duration_text(bar.duration_ms)}"
    return f"{look_of(bar.state).label}, {at}{spent}"


def _summary(bars: Sequence[RunBar]) -> str:
    if not bars:
        return "It has not run yet."
    counts = Counter(look_of(bar.state).label for bar in bars)
    parts = ", ".join(f"{count} {label}" for label, count in counts.most_common())
    return f"Last {plural(len(bars), 'run')}: {parts}; the newest {look_of(bars[-1].state).label}."


def _row(bar: RunBar) -> tuple[str, ...]:
    open_link = tag("a", {"href": bar.href}, "Open") if bar.href else "–"
    at = clock_text(bar.at)
    return at, state_badge(bar.state), duration_text(bar.duration_ms), open_link
