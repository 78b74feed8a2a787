"""Draws how much of an error budget is spent: a bar for all work and for each band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, joined, percent, tag
from dashboard.pictures.plot import Frame, Mark, plot

_ROW_HEIGHT, _BAR_HEIGHT = 26, 14
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
#: A part of the budget from which on a bar is marked.
_NEARLY_SPENT = 0.75


@dataclass(frozen=True, slots=True)
class BudgetBar:
    """One bar: its label, what counted, what missed the objective, and the spent part; 1 is all."""

    label: str
    total: int
    bad: int
    spent: float


def budget_bars(title: str, bars: Sequence[BudgetBar]) -> SafeString:
    """Return the bars from the top on; the axis ends where the budget is spent."""
    rows = len(bars)
    labels = [Mark((rows - place - 0.5) / rows, bar.label) for place, bar in enumerate(bars)]
    feet = [Mark(tick, f"{tick:.0%}") for tick in _TICKS]
    frame = Frame(rows * _ROW_HEIGHT, labels, feet, grid=False)
    lines = joined(_tick_line(frame, tick) for tick in _TICKS)
    shapes = joined(_bar(frame, bar, place, rows) for place, bar in enumerate(bars))
    summary = _summary(bars)
    table = Table(
        ("Work", "Counted", "Missed", "Budget spent"),
        [(bar.label, f"{bar.total:,}", f"{bar.bad:,}", part_text(bar.spent)) for bar in bars],
    )
    return figure("budget", title, summary, plot(frame, summary, lines, shapes), table=table)


def part_text(spent: float) -> str:
    """Return a part of a budget in words: ``4.2 %``, ``< 0.1 %``, ``> 1,000 %``."""
    if 0 < spent < 0.001:
        return "< 0.1 %"
    if spent > 10:
        return "> 1,000 %"
    return f"{spent * 100:.1f} %"


def _bar(frame: Frame, bar: BudgetBar, place: int, rows: int) -> SafeString:
    y = frame.y((rows - place - 0.5) / rows) - _BAR_HEIGHT / 2
    level = "over" if bar.spent >= 1 else "high" if bar.spent >= _NEARLY_SPENT else "normal"
    size: dict[str, str | int | float | None] = {"y": y, "height": _BAR_HEIGHT, "rx": 3}
    return tag(
        "g",
        {"class": f"gauge-{level}"},
        tag("title", {}, f"{bar.label}: {part_text(bar.spent)} of the budget is spent"),
        tag("rect", {"class": "gauge-ground", "width": "100%", **size}),
        tag("rect", {"class": "gauge-fill", "width": percent(bar.spent), **size}),
    )


def _tick_line(frame: Frame, place: float) -> SafeString:
    x = percent(place)
    ends: dict[str, str | int | float | None] = {
        "x1": x,
        "x2": x,
        "y1": frame.y(1),
        "y2": frame.y(0),
    }
    return tag("line", {"class": "grid-line", **ends})


def _summary(bars: Sequence[BudgetBar]) -> str:
    first = bars[0]
    if not first.total:
        return "Nothing has counted yet: the whole budget is left."
    return f"{part_text(first.spent)} spent: {first.bad:,} of {first.total:,} missed it."
