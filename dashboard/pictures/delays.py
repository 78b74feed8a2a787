"""Draws start delays: a heat strip of minutes by buckets, and the histogram of all of them.

Buckets are from the stored minute statistics, given by their upper bounds; one more holds longer
delays. The line at one second is the promise for start delays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, joined, percent, plural, tag
from dashboard.pictures.plot import Frame, Mark, count_scale, nice_top, plot, time_foot
from shared.clock_text import minute_text
from shared.duration_words import duration_text

PROMISE_MS = 1000
_HISTOGRAM_HEIGHT = 110
_ROW_HEIGHT = 14
_HEAT_LEVELS = 5
_QUANTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class MinuteDelays:
    """The starts of one minute by bucket: one count per bound, and one for longer delays."""

    at: datetime
    counts: Sequence[int]


def delay_strip(minutes: Sequence[MinuteDelays], bounds_ms: Sequence[int]) -> SafeString:
    """Return the heat strip of consecutive minutes, oldest first; long delays are at the top."""
    rows = len(bounds_ms) + 1
    strongest = max((max(minute.counts, default=0) for minute in minutes), default=0)
    frame = Frame(rows * _ROW_HEIGHT, _bound_marks(bounds_ms), _foot(minutes), grid=False)
    cells = joined(
        _cell(frame, (column, len(minutes)), (row, rows), count / strongest)
        for column, minute in enumerate(minutes)
        for row, count in enumerate(minute.counts[:rows])
        if count > 0
    )
    totals = _totals(minutes, rows)
    summary = f"{_late_text(totals, bounds_ms)} in {plural(len(minutes), 'minute')}."
    ground = tag("rect", {"class": "heat-ground", "width": "100%", "y": 8, "height": frame.height})
    drawing = plot(frame, summary, ground, cells, _promise_line(frame, bounds_ms))
    return figure(
        "delay-strip",
        "Start delay by minute",
        summary,
        drawing,
        table=Table(("Minute", *_bucket_names(bounds_ms)), [_minute_row(m) for m in minutes]),
    )


def delay_histogram(
    counts: Sequence[int],
    bounds_ms: Sequence[int],
    *,
    quantiles_ms: Sequence[float | None] = (None, None, None),
    window: str = "60 minutes",
) -> SafeString:
    """Return the distribution with marks at p50, p95 and p99, as far as they are known."""
    columns = len(bounds_ms) + 1
    top = nice_top(max(counts, default=1))
    frame = Frame(_HISTOGRAM_HEIGHT, count_scale(top), _bucket_foot(bounds_ms))
    bars = joined(
        _bar(frame, place, columns, count / top, late=_is_late(place, bounds_ms))
        for place, count in enumerate(counts[:columns])
        if count > 0
    )
    known = [
        (f"p{part}", value)
        for part, value in zip(_QUANTILES, quantiles_ms, strict=False)
        if value is not None
    ]
    told = "".join(f", {name} {duration_text(value)}" for name, value in known)
    summary = f"{_late_text(counts, bounds_ms)} in {window}{told}."
    drawing = plot(
        frame,
        summary,
        bars,
        _upright(frame, _place(PROMISE_MS, bounds_ms), "promise", "1 s"),
        *_quantile_marks(frame, known, bounds_ms),
    )
    rows = [
        (name, f"{count:,}") for name, count in zip(_bucket_names(bounds_ms), counts, strict=False)
    ]
    rows += [(name, duration_text(value)) for name, value in known]
    table = Table(("Start delay", "Starts"), rows)
    return figure("delay-histogram", "Start delay", summary, drawing, table=table)


def _cell(frame: Frame, column: tuple[int, int], row: tuple[int, int], share: float) -> SafeString:
    # The root makes single late starts visible beside minutes with hundreds in time.
    level = max(1, math.ceil(math.sqrt(share) * _HEAT_LEVELS))
    return tag(
        "rect",
        {
            "class": f"heat heat-{level}",
            "x": percent(column[0] / column[1]),
            "width": percent(1 / column[1]),
            "y": frame.y((row[0] + 1) / row[1]),
            "height": _ROW_HEIGHT,
        },
    )


def _bar(frame: Frame, place: int, columns: int, share: float, *, late: bool) -> SafeString:
    top = frame.y(share)
    return tag(
        "rect",
        {
            "class": "delay-bar late" if late else "delay-bar",
            "x": percent((place + 0.06) / columns),
            "width": percent(0.88 / columns),
            "y": top,
            "height": frame.y(0) - top,
        },
    )


def _quantile_marks(
    frame: Frame, known: Sequence[tuple[str, float]], bounds_ms: Sequence[int]
) -> list[SafeString]:
    """Return a mark per quantile; quantiles at one place share it, so that no label is hidden."""
    places: dict[float, list[str]] = {}
    for name, value in known:
        near = round(_place(value, bounds_ms) * 12) / 12
        places.setdefault(near, []).append(name)
    exact = {name: _place(value, bounds_ms) for name, value in known}
    return [
        _upright(
            frame,
            exact[names[-1]],
            "quantile",
            " ".join(names),
            low=level * 14,
            leftward=_leans_left(exact[names[-1]], _place(PROMISE_MS, bounds_ms)),
        )
        for level, names in enumerate(places.values(), start=1)
    ]


def _leans_left(place: float, promise: float) -> bool:
    """Return whether a label is left of its line: away from the edge and the promise."""
    return place > 0.85 or 0 <= promise - place < 0.12


def _upright(
    frame: Frame, place: float, kind: str, label: str, *, low: int = 0, leftward: bool = True
) -> SafeString:
    x = percent(place)
    text: dict[str, str | int | float | None] = {
        "class": f"tick {'at-end' if leftward else 'at-start'}",
        "x": x,
        "y": frame.y(1) + 4 + low,
        "dx": -5 if leftward else 5,
    }
    return tag(
        "g",
        {"class": f"mark mark-{kind}"},
        tag("line", {"x1": x, "x2": x, "y1": frame.y(1) - 6, "y2": frame.y(0)}),
        tag("text", text, label),
    )


def _promise_line(frame: Frame, bounds_ms: Sequence[int]) -> SafeString:
    y = frame.y(_place(PROMISE_MS, bounds_ms))
    return tag(
        "g",
        {"class": "mark mark-promise"},
        tag("line", {"x1": "0", "x2": "100%", "y1": y, "y2": y}),
    )


def _place(milliseconds: float, bounds_ms: Sequence[int]) -> float:
    """Return the place of a delay on the axis of buckets, logarithmic inside its bucket."""
    columns = len(bounds_ms) + 1
    lower = bounds_ms[0] / 3 if bounds_ms else 1.0
    for place, upper in enumerate(bounds_ms):
        if milliseconds <= upper:
            inside = math.log(max(milliseconds, lower) / lower) / math.log(upper / lower)
            return (place + inside) / columns
        lower = upper
    return (len(bounds_ms) + 0.5) / columns


def _is_late(place: int, bounds_ms: Sequence[int]) -> bool:
    return place >= len(bounds_ms) or bounds_ms[place] > PROMISE_MS


def _late_text(counts: Sequence[int], bounds_ms: Sequence[int]) -> str:
    total = sum(counts)
    if not total:
        return "Nothing has started"
    late = sum(count for place, count in enumerate(counts) if _is_late(place, bounds_ms))
    return f"{plural(total, 'start')}, {late:,} of them more than 1 s late,"


def _totals(minutes: Sequence[MinuteDelays], rows: int) -> list[int]:
    return [
        sum(minute.counts[row] for minute in minutes if row < len(minute.counts))
        for row in range(rows)
    ]


def _bound_marks(bounds_ms: Sequence[int]) -> list[Mark]:
    rows = len(bounds_ms) + 1
    every = 1 if rows <= 8 else 2
    return [
        Mark((place + 1) / rows, duration_text(bound))
        for place, bound in enumerate(bounds_ms)
        if bound == PROMISE_MS or _shown(place, bounds_ms, every)
    ]


def _bucket_foot(bounds_ms: Sequence[int]) -> list[Mark]:
    columns = len(bounds_ms) + 1
    return [
        Mark((place + 1) / columns, duration_text(bound))
        for place, bound in enumerate(bounds_ms)
        if bound in (10, 100, PROMISE_MS, 10_000, 60_000)
    ]


def _shown(place: int, bounds_ms: Sequence[int], every: int) -> bool:
    promised = bounds_ms.index(PROMISE_MS) if PROMISE_MS in bounds_ms else 0
    return (place - promised) % every == 0


def _bucket_names(bounds_ms: Sequence[int]) -> list[str]:
    names = [f"≤ {duration_text(bound)}" for bound in bounds_ms]
    return [*names, f"> {duration_text(bounds_ms[-1])}"] if bounds_ms else ["all"]


def _foot(minutes: Sequence[MinuteDelays]) -> list[Mark]:
    return time_foot([minute.at for minute in minutes])


def _minute_row(minute: MinuteDelays) -> tuple[str, ...]:
    return (minute_text(minute.at), *(f"{count:,}" for count in minute.counts))
