"""Draws the past of one task in parts of equal length: its success, and percentiles of times."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, joined, percent, plural, tag
from dashboard.pictures.plot import Frame, Mark, plot
from insight.statistics.of_task import Figures, Part, Percentiles, TaskHistory
from shared.clock_text import clock_text, digits, zone_label
from shared.duration_words import duration_text

_HEIGHT = 120
_MARKS = 4
_DAY = 86_400
#: The least height of a failure in pixels: one of a thousand is seen, too.
_LEAST = 4.0
#: From this ratio of the highest to the median value on, the scale is logarithmic.
_DWARFS = 20
_LEAST_MS = 0.1


def success_bars(found: TaskHistory) -> SafeString:
    """Return the share of successes in each part; a part without a result has no bar."""
    summary = _success_summary(found)
    frame = Frame(_HEIGHT, [Mark(0, "0 %"), Mark(0.5, "50 %"), Mark(1, "100 %")], _foot(found))
    bars = joined(
        _success(part, place, len(found.parts), frame) for place, part in enumerate(found.parts)
    )
    rows = [
        (
            _at(part.start),
            *(f"{count:,}" for count in (part.figures.succeeded, part.figures.failed)),
            share_text(part.figures.success_share),
            f"{part.figures.ended:,}",
        )
        for part in reversed(found.parts)
        if part.figures.ended
    ]
    head = (f"From (parts of {duration_text(found.part_seconds * 1000)})",)
    table = Table((*head, "Succeeded", "Failed", "Success", "Ended"), rows)
    legend = _legend(("succeeded", "succeeded"), ("failed", "failed, at least a line"))
    return figure("success", "Success over time", summary, legend, plot(frame, summary, bars),
                  table=table)  # fmt: skip


def percentile_bars(found: TaskHistory, kind: str) -> SafeString:
    """Return p50 to p95 of each part as a bar; ``kind`` is ``duration`` or ``start_delay``."""
    title, read = _KINDS[kind]
    values = [read(part.figures) for part in found.parts]
    known = [one for one in values if one.p50 is not None and one.p95 is not None]
    summary = _percentile_summary(title, read(found.total), found)
    place = _scale([one.p50 or 0.0 for one in known], [one.p95 or 0.0 for one in known])
    frame = Frame(_HEIGHT, place.marks, _foot(found))
    bars = joined(
        _range(one, part, index, len(values), frame, place.share)
        for index, (one, part) in enumerate(zip(values, found.parts, strict=True))
        if one.p50 is not None and one.p95 is not None
    )
    rows = [
        (_at(part.start), duration_text(one.p50), duration_text(one.p95))
        for one, part in reversed(list(zip(values, found.parts, strict=True)))
        if one.p50 is not None
    ]
    head = f"From (parts of {duration_text(found.part_seconds * 1000)})"
    scale = "; the scale is logarithmic" if place.is_log else ""
    legend = _legend(("p50", "p50"), ("p95", f"up to p95{scale}"))
    drawing = plot(frame, summary, bars)
    table = Table((head, "p50", "p95"), rows)
    return figure(kind.replace("_", "-"), title, summary, legend, drawing, table=table)


_KINDS: dict[str, tuple[str, Callable[[Figures], Percentiles]]] = {
    "duration": ("Duration over time", lambda figures: figures.duration_ms),
    "start_delay": ("Start delay over time", lambda figures: figures.start_delay_ms),
}


def share_text(share: float | None) -> str:
    """Return a share as percent; below all of them it never reads 100 %."""
    if share is None:
        return "–"
    shown = min(share * 100, 99.9) if share < 1 else 100.0
    return f"{shown:.1f} %".replace(".0 %", " %")


class _Scale:
    """Where a duration lies on the axis, and the labels of the axis."""

    def __init__(self, low: float, high: float, *, is_log: bool) -> None:
        self.is_log = is_log
        self._low, self._high = low, high
        middle = math.sqrt(low * high) if is_log else (low + high) / 2
        ends = ((0.0, low), (0.5, middle), (1.0, high))
        self.marks = [Mark(at, duration_text(value)) for at, value in ends]

    def share(self, value: float) -> float:
        """Return the place of a value, 0 to 1."""
        if self.is_log:
            value = max(value, self._low)
            return math.log(value / self._low) / math.log(self._high / self._low)
        return (value - self._low) / (self._high - self._low)


def _scale(lower: Sequence[float], upper: Sequence[float]) -> _Scale:
    highest = max(upper, default=0.0) or 1.0
    middle = sorted(lower)[len(lower) // 2] if lower else highest
    if highest > _DWARFS * max(middle, _LEAST_MS):
        least = max(min(lower), _LEAST_MS)
        return _Scale(10 ** math.floor(math.log10(least)), 10 ** math.ceil(math.log10(highest)),
                      is_log=True)  # fmt: skip
    return _Scale(0.0, _round_up(highest), is_log=False)


def _round_up(value: float) -> float:
    size = 10 ** math.floor(math.log10(value))
    return next(float(size * step) for step in (1, 2, 4, 6, 8, 10) if value <= size * step)


def _success(part: Part, place: int, count: int, frame: Frame) -> SafeString:
    figures = part.figures
    share = figures.success_share
    if share is None:
        return joined(())
    top, floor = frame.y(1), frame.y(0)
    failed = (1 - share) * (floor - top)
    failed = min(max(failed, _LEAST), floor - top) if figures.failed else 0.0
    told = (
        f"{_at(part.start)}: {share_text(share)}, "
        f"{figures.succeeded:,} succeeded, {figures.failed:,} failed"
    )
    pieces = [("failed", top, failed), ("succeeded", top + failed, floor - top - failed)]
    rects = [
        tag("rect", {"class": f"stack stack-{name}", **_column(place, count), "y": y, "height": h})
        for name, y, h in pieces
        if h > 0
    ]
    return tag("g", {}, tag("title", {}, told), *rects)


def _range(
    one: Percentiles,
    part: Part,
    place: int,
    count: int,
    frame: Frame,
    share: Callable[[float], float],
) -> SafeString:
    low, high = frame.y(share(one.p50 or 0.0)), frame.y(share(one.p95 or 0.0))
    told = f"{_at(part.start)}: p50 {duration_text(one.p50)}, p95 {duration_text(one.p95)}"
    column = _column(place, count)
    return tag(
        "g",
        {},
        tag("title", {}, told),
        tag("rect", {"class": "range", **column, "y": high, "height": max(low - high, 1.0)}),
        tag("rect", {"class": "range-middle", **column, "y": low - 1.5, "height": 3}),
    )


def _column(place: int, count: int) -> dict[str, str]:
    return {"x": percent((place + 0.15) / count), "width": percent(0.7 / count)}


def _foot(found: TaskHistory) -> list[Mark]:
    count = len(found.parts)
    places = sorted({round(step * (count - 1) / _MARKS) for step in range(_MARKS + 1)})
    long = (found.until - found.since).total_seconds() > _DAY
    return [
        Mark((place + 0.5) / count, _short(found.parts[place].start, long=long)) for place in places
    ]


def _short(moment: datetime, *, long: bool) -> str:
    day, _, time = digits(moment, "minutes").partition(" ")
    return day[5:] if long else time


def _at(moment: datetime) -> str:
    return f"{digits(moment, 'minutes')} {zone_label(moment)}"


def _success_summary(found: TaskHistory) -> str:
    total = found.total
    if total.success_share is None:
        return f"No execution succeeded or failed since {clock_text(found.since, 'minutes')}."
    judged = plural(total.succeeded + total.failed, "execution")
    return (
        f"{share_text(total.success_share)} of {judged} succeeded since "
        f"{clock_text(found.since, 'minutes')}; {total.failed:,} failed."
    )


def _percentile_summary(title: str, total: Percentiles, found: TaskHistory) -> str:
    if total.p50 is None:
        return f"No execution was measured since {clock_text(found.since, 'minutes')}."
    what = title.removesuffix(" over time")
    return (
        f"{what}: half at most {duration_text(total.p50)}, 95 % at most "
        f"{duration_text(total.p95)} since {clock_text(found.since, 'minutes')}."
    )


def _legend(*keys: tuple[str, str]) -> SafeString:
    return tag(
        "ul",
        {"class": "legend", "aria-hidden": "true"},
        *(tag("li", {}, tag("span", {"class": f"key key-{name}"}), word) for name, word in keys),
    )
