"""Draws how many executions ended on each day: stacked bars, and the same as a table."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, joined, plural, tag
from dashboard.pictures.plot import Frame, Mark, count_scale, nice_top, plot, stack
from insight.statistics.usage import Usage
from shared.duration_words import duration_text

_HEIGHT = 140
_MARKS = 4
#: Class of a part of a bar -> its word; from the floor upwards.
_PARTS = {"succeeded": "succeeded", "failed": "failed"}


def usage_bars(days: Sequence[Usage]) -> SafeString:
    """Return the chart of consecutive days in UTC, oldest first."""
    summary = _summary(days)
    top = nice_top(max((sum(_counts(one)) for one in days), default=1))
    frame = Frame(_HEIGHT, count_scale(top), _foot(days))
    bars = joined(_stack(one, place, len(days), frame, top) for place, one in enumerate(days))
    head = ("Day", "Started", "Succeeded", "Failed", "Attempts", "Time", "Recorded bytes")
    # The latest first, as in lists.
    table = Table(head, [_row(one) for one in reversed(days)])
    drawing = plot(frame, summary, bars)
    return figure("usage", "Executions per day", summary, _legend(), drawing, table=table)


def _counts(one: Usage) -> tuple[int, int]:
    return one.succeeded, one.failed


def _stack(one: Usage, place: int, count: int, frame: Frame, top: int) -> SafeString:
    title = tag("title", {}, f"{one.day}: {one.succeeded:,} succeeded, {one.failed:,} failed")
    amounts = dict(zip(_PARTS, _counts(one), strict=True))
    return tag("g", {}, title, *stack(frame, amounts, top, place, count))


def _foot(days: Sequence[Usage]) -> list[Mark]:
    if not days:
        return []
    count = len(days)
    places = sorted({round(step * (count - 1) / _MARKS) for step in range(_MARKS + 1)})
    return [Mark((place + 0.5) / count, f"{days[place].day:%m-%d}") for place in places]


def _legend() -> SafeString:
    return tag(
        "ul",
        {"class": "legend", "aria-hidden": "true"},
        *(
            tag("li", {}, tag("span", {"class": f"key key-{name}"}), word)
            for name, word in _PARTS.items()
        ),
    )


def _summary(days: Sequence[Usage]) -> str:
    succeeded, failed = sum(one.succeeded for one in days), sum(one.failed for one in days)
    if not succeeded + failed:
        return f"No execution has ended in {plural(len(days), 'day')}."
    busiest = max(days, key=lambda one: sum(_counts(one)))
    return (
        f"{succeeded:,} succeeded and {failed:,} failed in {plural(len(days), 'day')}; "
        f"most on {busiest.day} with {sum(_counts(busiest)):,}."
    )


def _row(one: Usage) -> tuple[str, ...]:
    counts = (one.started, one.succeeded, one.failed, one.attempts)
    time = duration_text(one.execution_ms)
    return (str(one.day), *(f"{count:,}" for count in counts), time, f"{one.recorded_bytes:,}")
