"""Draws when each step of a run began and ended, on one time axis; idle time is cut short.

Steps are in the order in which they began. The table has the same content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.templatetags.static import static
from django.utils.safestring import SafeString

from dashboard.pictures.badge import state_badge
from dashboard.pictures.broken_axis import BrokenAxis
from dashboard.pictures.markup import Table, clipped, figure, link, percent, plural, tag
from dashboard.pictures.time_ruler import cut_band, cut_label, merged_spans, ruler
from dashboard.state_vocabulary import look_of
from shared.clock_text import clock_text
from shared.duration_words import duration_text

MOST_BARS = 300
_ROW, _TOP, _BAR, _HEAD, _FOOT = 28, 6, 16, 20, 26
_NAMES, _ICON, _LETTERS = 210, 12, 18
#: So that a step of a millisecond is still seen.
_THINNEST = 0.004


@dataclass(frozen=True, slots=True)
class GanttBar:
    """A step that has begun; ``end`` is None while it is under way."""

    key: str
    state: str
    begin: datetime
    end: datetime | None = None
    href: str | None = None
    #: It is not a step, but what undoes one.
    undoes: bool = False


def gantt(bars: Sequence[GanttBar], *, now: datetime, unbegun: int = 0) -> SafeString:
    """Return the chart; what is under way is drawn up to ``now``."""
    ordered = sorted(bars, key=lambda bar: (bar.begin, bar.key))
    shown = ordered[:MOST_BARS]
    summary = _summary(ordered, now, unbegun)
    if not shown:
        return figure("gantt", "Timing", summary, table=Table((), ()))
    spans = [_span(bar, shown[0].begin, now) for bar in shown]
    axis = BrokenAxis(merged_spans(spans), [])
    height = _HEAD + len(shown) * _ROW + _FOOT
    names = tag(
        "svg",
        {"class": "gantt-names", "width": _NAMES, "height": height, "aria-hidden": "true"},
        *(_name(bar, span, place) for place, (bar, span) in enumerate(_zip(shown, spans))),
    )
    area = tag(
        "svg",
        {"class": "gantt-area", "width": "100%", "height": height},
        *(cut_band(piece, height - _FOOT) for piece in axis.cuts),
        *(cut_label(piece) for piece in axis.cuts),
        *(_bar(bar, span, axis, place) for place, (bar, span) in enumerate(_zip(shown, spans))),
        ruler(axis, height),
    )
    linked = any(bar.href for bar in shown)
    drawing = tag(
        "div",
        {
            "class": "gantt",
            "role": "group" if linked else "img",
            "aria-label": summary,
            "data-roving": "",
        },
        names,
        area,
    )
    table = Table(
        ("Step", "State", "Began", "Ended", "Took"),
        [_row(bar, span) for bar, span in _zip(shown, spans)],
    )
    return figure("gantt", "Timing", summary, drawing, table=table)


_Span = tuple[float, float]


def _zip(bars: Sequence[GanttBar], spans: Sequence[_Span]) -> list[tuple[GanttBar, _Span]]:
    return list(zip(bars, spans, strict=True))


def _span(bar: GanttBar, origin: datetime, now: datetime) -> _Span:
    """Return begin and end in milliseconds after the first begin; never negative in length."""
    begin = (bar.begin - origin).total_seconds() * 1000
    end = ((bar.end or max(now, bar.begin)) - origin).total_seconds() * 1000
    return begin, max(begin, end)


def _name(bar: GanttBar, span: _Span, place: int) -> SafeString:
    y = _HEAD + place * _ROW
    look = look_of(bar.state)
    href = f"{static('icons.svg')}#{look.icon}"
    return tag(
        "g",
        {"class": f"gantt-name {look.css}"},
        tag("use", {"href": href, "x": 0, "y": y + 8, "width": _ICON, "height": _ICON}),
        tag("text", {"class": "gantt-key", "x": 18, "y": y + 18}, clipped(bar.key, _LETTERS)),
        tag(
            "text",
            {"class": "tick at-end", "x": _NAMES - 8, "y": y + 18},
            duration_text(span[1] - span[0]),
        ),
    )


def _bar(bar: GanttBar, span: _Span, axis: BrokenAxis, place: int) -> SafeString:
    left, right = axis.place(span[0]), axis.place(span[1])
    width = max(right - left, _THINNEST)
    y = _HEAD + place * _ROW + _TOP
    spent = duration_text(span[1] - span[0])
    words = f"{bar.key}, {look_of(bar.state).label}, {spent}"
    return link(
        bar.href,
        {
            "class": f"gantt-bar {look_of(bar.state).css}" + ("" if bar.end else " is-open"),
            "aria-label": words if bar.href else None,
            "tabindex": (-1 if place else 0) if bar.href else None,
        },
        tag("title", {}, words),
        tag("rect", {"class": "lane", "width": "100%", "y": y, "height": _BAR, "rx": 3}),
        tag(
            "rect",
            {
                "class": "bar",
                "x": percent(min(left, 1 - width)),
                "width": percent(width),
                "y": y,
                "height": _BAR,
                "rx": 2,
            },
        ),
    )


def _summary(bars: Sequence[GanttBar], now: datetime, unbegun: int) -> str:
    if not bars:
        return "No step has begun yet."
    waits = f" {plural(unbegun, 'step')} did not begin." if unbegun else ""
    end = max(bar.end or now for bar in bars)
    spent = duration_text(max((end - bars[0].begin).total_seconds(), 0.0) * 1000)
    more = f" The first {MOST_BARS} are shown." if len(bars) > MOST_BARS else ""
    undos = sum(bar.undoes for bar in bars)
    undone = f" and {plural(undos, 'compensation')}" if undos else ""
    return f"{plural(len(bars) - undos, 'step')}{undone} in {spent}.{more}{waits}"


def _row(bar: GanttBar, span: _Span) -> tuple[str, ...]:
    name = tag("a", {"href": bar.href}, bar.key) if bar.href else bar.key
    ended = clock_text(bar.end, "ms") if bar.end else "–"
    spent = duration_text(span[1] - span[0])
    return name, state_badge(bar.state), clock_text(bar.begin, "ms"), ended, spent
