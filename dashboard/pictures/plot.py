"""Lays out charts that stretch: labels in pixels, measured places in shares of the width.

A chart's text keeps its size on a phone and on a wide screen, because only positions stretch;
throughput, delays and coming fires are drawn on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from dashboard.pictures.markup import joined, number, percent, tag
from shared.clock_text import time_of_day

_SCALE_WIDTH = 52
_HEAD, _FOOT = 8, 22
_EDGE = 0.02
_ROUND_TENTHS = (10, 12, 15, 20, 30, 40, 50, 60, 80)


@dataclass(frozen=True, slots=True)
class Mark:
    """A label at a place of an axis; 0 is the left or the lower end, 1 the other."""

    place: float
    label: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a drawing: its height in pixels, its scale and the labels below it."""

    height: int
    scale: Sequence[Mark]
    foot: Sequence[Mark]
    grid: bool = True

    def y(self, share: float) -> float:
        """Return the pixel of a share of the height, measured from the floor."""
        return _HEAD + (1 - min(max(share, 0.0), 1.0)) * self.height


def plot(frame: Frame, summary: str, *drawing: SafeString, interactive: bool = False) -> SafeString:
    """Return the chart, named by its summary; an interactive one has parts to reach."""
    total = number(_HEAD + frame.height + _FOOT)
    hidden = None if interactive else "true"
    scale = tag(
        "svg",
        {"class": "plot-scale", "width": _SCALE_WIDTH, "height": total, "aria-hidden": "true"},
        *(
            tag(
                "text",
                {"class": "tick", "x": _SCALE_WIDTH - 6, "y": frame.y(mark.place) + 4.0},
                mark.label,
            )
            for mark in frame.scale
        ),
    )
    area = tag(
        "svg",
        {"class": "plot-area", "width": "100%", "height": total, "aria-hidden": hidden},
        _grid(frame) if frame.grid else "",
        *drawing,
        _foot(frame),
    )
    role = "group" if interactive else "img"
    roving = "" if interactive else None
    return tag(
        "div",
        {"class": "plot", "role": role, "aria-label": summary, "data-roving": roving},
        scale,
        area,
    )


def stack(
    frame: Frame, amounts: Mapping[str, int], top: int, place: int, count: int
) -> list[SafeString]:
    """Return the parts of one stacked bar of ``count``, by class from the floor upwards."""
    below, parts = 0, []
    for name, amount in amounts.items():
        if amount <= 0:
            continue
        upper, lower = frame.y((below + amount) / top), frame.y(below / top)
        below += amount
        parts.append(
            tag(
                "rect",
                {
                    "class": f"stack stack-{name}",
                    "x": percent((place + 0.1) / count),
                    "width": percent(0.8 / count),
                    "y": upper,
                    "height": lower - upper,
                },
            )
        )
    return parts


def time_foot(moments: Sequence[datetime], parts: int = 4) -> list[Mark]:
    """Return labels below columns of equal width, one per moment: the first, some, the last."""
    if not moments:
        return []
    count = len(moments)
    places = sorted({round(step * (count - 1) / parts) for step in range(parts + 1)})
    return [Mark((place + 0.5) / count, time_of_day(moments[place])) for place in places]


def nice_top(highest: float) -> int:
    """Return the round number at which a scale of counts ends, not far above the highest."""
    size = 1
    while True:
        for tenths in _ROUND_TENTHS:
            top, rest = divmod(tenths * size, 10)
            if not rest and highest <= top:
                return top
        size *= 10


def count_scale(top: int) -> list[Mark]:
    """Return the labels of a scale of counts that ends at ``top``."""
    middle = [Mark(0.5, short_count(top // 2))] if top % 2 == 0 else []
    return [Mark(0, "0"), *middle, Mark(1, short_count(top))]


def short_count(count: int) -> str:
    """Return a count in at most four letters: ``950``, ``1.2k``, ``20k``, ``3M``."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(count)


def _grid(frame: Frame) -> SafeString:
    return joined(
        tag("line", {"class": "grid-line", "x1": "0", "x2": "100%", **_level(frame.y(mark.place))})
        for mark in frame.scale
    )


def _foot(frame: Frame) -> SafeString:
    y = _HEAD + frame.height + 16
    return joined(
        tag(
            "text",
            {
                # Narrow screens leave every second label out.
                "class": f"tick {_anchor(mark.place)}" + (" spare" if place % 2 else ""),
                "x": percent(mark.place),
                "y": y,
            },
            mark.label,
        )
        for place, mark in enumerate(frame.foot)
    )


def _anchor(place: float) -> str:
    if place < _EDGE:
        return "at-start"
    return "at-end" if place > 1 - _EDGE else "at-middle"


def _level(y: float) -> dict[str, str | int | float | None]:
    return {"y1": y, "y2": y}
