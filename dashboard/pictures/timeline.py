"""Draws when executions ran, in a lane for each task, worker or destination; idle time is cut.

Executions of one lane that overlap lie below each other. The table has the same content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from dashboard.pictures.badge import state_badge
from dashboard.pictures.broken_axis import BrokenAxis
from dashboard.pictures.markup import Table, clipped, figure, joined, link, percent, plural, tag
from dashboard.pictures.time_ruler import cut_band, cut_label, merged_spans, ruler
from dashboard.state_vocabulary import look_of
from shared.clock_text import clock_text
from shared.duration_words import duration_text

#: Lanes that are drawn, those with the most executions first, and rows of one lane.
MOST_LANES, MOST_ROWS = 40, 6
_ROW, _GAP, _BAR, _HEAD, _FOOT = 14, 10, 11, 20, 26
_NAMES, _LETTERS = 210, 28
_THINNEST = 0.003
#: Share of the axis from which a cut has room for its label.
_LABELLED = 0.06


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """An execution that has begun, in its lane; ``end`` is None while it runs."""

    lane: str
    name: str
    state: str
    begin: datetime
    end: datetime | None
    href: str


def timeline(bars: Sequence[TimelineBar], *, by: str, now: datetime) -> SafeString:
    """Return the chart of the executions by ``by``, a noun; what runs is drawn up to ``now``."""
    lanes = _lanes(bars)
    shown = dict(list(lanes.items())[:MOST_LANES])
    summary = _summary(bars, lanes, by, now)
    drawn = [bar for lane in shown.values() for bar in lane]
    if not drawn:
        return figure("timeline", "Executions over time", summary, table=Table((), ()))
    origin = min(bar.begin for bar in drawn)
    spans = {id(bar): _span(bar, origin, now) for bar in drawn}
    axis = BrokenAxis(merged_spans(list(spans.values())), [])
    rows, height = _laid_out(shown, spans)
    total = height + _FOOT
    names = tag(
        "svg",
        {"class": "gantt-names", "width": _NAMES, "height": total, "aria-hidden": "true"},
        *(_name(lane, len(shown[lane]), y) for lane, y in rows.lanes.items()),
    )
    area = tag(
        "svg",
        {"class": "gantt-area", "width": "100%", "height": total},
        *(cut_band(piece, height) for piece in axis.cuts),
        *(cut_label(piece) for piece in axis.cuts if piece.right - piece.left > _LABELLED),
        *(_floor(y) for y in rows.lanes.values()),
        joined(_bar(bar, spans[id(bar)], axis, rows.bars[id(bar)], first=n == 0)
               for n, bar in enumerate(drawn)),
        ruler(axis, total),
    )  # fmt: skip
    drawing = tag(
        "div",
        {"class": "gantt", "role": "group", "aria-label": summary, "data-roving": ""},
        names,
        area,
    )
    head = (by.capitalize(), "Execution", "State", "Began", "Took")
    table = Table(head, [_row(bar, spans[id(bar)]) for bar in drawn])
    return figure("timeline", "Executions over time", summary, drawing, table=table)


_Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where lanes begin, and the upper edge of each bar by its identity."""

    lanes: Mapping[str, float]
    bars: Mapping[int, float]


def _lanes(bars: Sequence[TimelineBar]) -> dict[str, list[TimelineBar]]:
    """Return the bars by lane, those with the most first; the bars of a lane by their begin."""
    found: dict[str, list[TimelineBar]] = {}
    for bar in sorted(bars, key=lambda one: one.begin):
        found.setdefault(bar.lane, []).append(bar)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def _span(bar: TimelineBar, origin: datetime, now: datetime) -> _Span:
    begin = (bar.begin - origin).total_seconds() * 1000
    end = ((bar.end or now) - origin).total_seconds() * 1000
    return begin, max(begin, end)


def _laid_out(
    lanes: Mapping[str, Sequence[TimelineBar]], spans: Mapping[int, _Span]
) -> tuple[_Rows, float]:
    """Return where lanes and bars are, and the height; of very many at once some share a row."""
    starts: dict[str, float] = {}
    places: dict[int, float] = {}
    y = float(_HEAD)
    for lane, bars in lanes.items():
        starts[lane] = y
        ends: list[float] = []
        for bar in bars:
            begin, end = spans[id(bar)]
            free = [row for row, until in enumerate(ends) if until <= begin]
            row = free[0] if free else min(len(ends), MOST_ROWS - 1)
            if row == len(ends):
                ends.append(end)
            ends[row] = max(end, ends[row])
            places[id(bar)] = y + row * _ROW
        y += len(ends) * _ROW + _GAP
    return _Rows(starts, places), y


def _name(lane: str, count: int, y: float) -> SafeString:
    return tag(
        "g",
        {"class": "gantt-name"},
        tag("text", {"class": "gantt-key", "x": 0, "y": y + 10}, clipped(lane, _LETTERS)),
        tag("text", {"class": "tick at-end", "x": _NAMES - 8, "y": y + 10}, f"{count:,}"),
    )


def _floor(y: float) -> SafeString:
    edge = y - _GAP / 2
    return tag("line", {"class": "grid-line", "x1": "0", "x2": "100%", "y1": edge, "y2": edge})


def _bar(bar: TimelineBar, span: _Span, axis: BrokenAxis, y: float, *, first: bool) -> SafeString:
    left, right = axis.place(span[0]), axis.place(span[1])
    width = max(right - left, _THINNEST)
    spent = duration_text(span[1] - span[0])
    words = f"{bar.name}, {look_of(bar.state).label}, {clock_text(bar.begin)}, {spent}"
    box: dict[str, str | int | float | None] = {
        "x": percent(min(left, 1 - width)),
        "width": percent(width),
        "y": y,
        "height": _BAR,
    }
    return link(
        bar.href,
        {
            "class": f"gantt-bar {look_of(bar.state).css}" + ("" if bar.end else " is-open"),
            "aria-label": words,
            "tabindex": 0 if first else -1,
        },
        tag("title", {}, words),
        tag("rect", {"class": "bar", **box, "rx": 2}),
    )


def _row(bar: TimelineBar, span: _Span) -> tuple[str, ...]:
    opened = tag("a", {"href": bar.href}, bar.name)
    spent = duration_text(span[1] - span[0])
    return bar.lane, opened, state_badge(bar.state), clock_text(bar.begin, "ms"), spent


def _summary(
    bars: Sequence[TimelineBar],
    lanes: Mapping[str, Sequence[TimelineBar]],
    by: str,
    now: datetime,
) -> str:
    if not bars:
        return "No execution began in this window."
    begun = plural(len(bars), "execution")
    first, last = min(bar.begin for bar in bars), max(bar.end or now for bar in bars)
    when = f"from {clock_text(first)} to {clock_text(last)}"
    more = f" The {MOST_LANES} with the most are shown." if len(lanes) > MOST_LANES else ""
    return f"{begun} of {plural(len(lanes), by)}, {when}; idle time is cut short.{more}"
