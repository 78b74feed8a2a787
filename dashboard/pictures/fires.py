"""Draws how many starts each of the coming minutes brings, each bar a link to its list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, joined, link, percent, plural, tag
from dashboard.pictures.plot import Frame, count_scale, nice_top, plot, time_foot
from shared.clock_text import minute_text

_HEIGHT = 90


@dataclass(frozen=True, slots=True)
class FireMinute:
    """The number of starts in the minute that begins at ``at``."""

    at: datetime
    count: int
    href: str | None = None


def fire_histogram(
    minutes: Sequence[FireMinute],
    title: str = "Starts in the next hour",
    *,
    sign: str = "",
    counted_at: datetime | None = None,
) -> SafeString:
    """Return the coming minutes, nearest first; empty ones are no stop for the keyboard.

    ``sign`` precedes inexact counts, like ``≈``; ``counted_at`` is given for counts of an earlier
    moment.
    """
    busy = [minute for minute in minutes if minute.count > 0]
    summary = _summary(minutes, busy, sign)
    if counted_at is not None:
        summary += f" Counted at {minute_text(counted_at, 'seconds')}."
    top = nice_top(max((minute.count for minute in minutes), default=1))
    frame = Frame(_HEIGHT, count_scale(top), time_foot([minute.at for minute in minutes]))
    first = busy[0] if busy else None
    bars = joined(
        _bar(minute, place, len(minutes), frame, (top, minute is first))
        for place, minute in enumerate(minutes)
        if minute.count > 0
    )
    interactive = any(minute.href for minute in busy)
    drawing = plot(frame, summary, bars, interactive=interactive)
    table = Table(("Minute", "Starts", "Executions"), [_row(minute) for minute in busy])
    return figure("fires", title, summary, drawing, table=table)


def _bar(
    minute: FireMinute, place: int, count: int, frame: Frame, scale: tuple[int, bool]
) -> SafeString:
    top, in_tab_order = scale
    upper = frame.y(minute.count / top)
    text = f"{minute_text(minute.at)}: {plural(minute.count, 'start')}"
    column = {"x": percent(place / count), "width": percent(1 / count)}
    inner = {"x": percent((place + 0.1) / count), "width": percent(0.8 / count)}
    attributes = {
        "class": "fire",
        "aria-label": text if minute.href else None,
        "tabindex": (0 if in_tab_order else -1) if minute.href else None,
    }
    return link(
        minute.href,
        attributes,
        tag("title", {}, text),
        tag("rect", {"class": "hit", **column, "y": frame.y(1), "height": frame.height}),
        tag("rect", {"class": "bar", **inner, "y": upper, "height": frame.y(0) - upper}),
    )


def _summary(minutes: Sequence[FireMinute], busy: Sequence[FireMinute], sign: str) -> str:
    if not busy:
        return f"Nothing starts in {plural(len(minutes), 'minute')}."
    total = sum(minute.count for minute in busy)
    busiest = max(busy, key=lambda minute: minute.count)
    before = f"{sign} " if sign else ""
    return (
        f"{before}{plural(total, 'start')} in {plural(len(minutes), 'minute')}; most at "
        f"{minute_text(busiest.at)} with {before}{busiest.count:,}."
    )


def _row(minute: FireMinute) -> tuple[str, ...]:
    open_link = tag("a", {"href": minute.href}, "List") if minute.href else "–"
    return minute_text(minute.at), f"{minute.count:,}", open_link
