"""Draws how many attempts ended how in each minute: stacked bars, and the data for the browser.

The bars work without JavaScript. static/js/charts.js puts an interactive chart in their place; its
``data-series`` attribute has the same numbers as the table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.safestring import SafeString

from dashboard.pictures.markup import Table, figure, joined, plural, tag
from dashboard.pictures.plot import Frame, count_scale, nice_top, plot, stack, time_foot
from shared.clock_text import minute_text

_HEIGHT = 140
#: Name of a series -> its word; from the floor upwards.
_SERIES = {"succeeded": "succeeded", "retrying": "retried", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class MinuteOutcomes:
    """The attempts that ended within one minute."""

    at: datetime
    succeeded: int = 0
    retried: int = 0
    failed: int = 0

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return the counts in the order of the stack."""
        return self.succeeded, self.retried, self.failed


def throughput_bars(minutes: Sequence[MinuteOutcomes]) -> SafeString:
    """Return the chart of consecutive minutes, oldest first."""
    summary = _summary(minutes)
    top = nice_top(max((sum(minute.counts) for minute in minutes), default=1))
    frame = Frame(_HEIGHT, count_scale(top), time_foot([minute.at for minute in minutes]))
    bars = joined(
        _stack(minute, place, len(minutes), frame, top) for place, minute in enumerate(minutes)
    )
    drawing = tag("div", {"class": "chart-fallback"}, plot(frame, summary, bars))
    chart = tag(
        "div",
        {
            "class": "chart",
            "data-chart": "throughput",
            "data-series": _data(minutes),
            "data-summary": summary,
            "data-zone": timezone.get_current_timezone_name(),
        },
        drawing,
    )
    table = Table(("Minute", "Succeeded", "Retried", "Failed"), [_row(one) for one in minutes])
    return figure("throughput", "Throughput per minute", summary, _legend(), chart, table=table)


def _stack(minute: MinuteOutcomes, place: int, count: int, frame: Frame, top: int) -> SafeString:
    amounts = dict(zip(_SERIES, minute.counts, strict=True))
    return joined(stack(frame, amounts, top, place, count))


def _legend() -> SafeString:
    return tag(
        "ul",
        {"class": "legend", "aria-hidden": "true"},
        *(
            tag("li", {}, tag("span", {"class": f"key key-{name}"}), word)
            for name, word in _SERIES.items()
        ),
    )


def _data(minutes: Sequence[MinuteOutcomes]) -> str:
    columns: dict[str, list[int]] = {"at": [int(minute.at.timestamp()) for minute in minutes]}
    for place, word in enumerate(_SERIES.values()):
        columns[word] = [minute.counts[place] for minute in minutes]
    return json.dumps(columns, separators=(",", ":"))


def _summary(minutes: Sequence[MinuteOutcomes]) -> str:
    succeeded, retried, failed = (
        sum(minute.counts[place] for minute in minutes) for place in range(3)
    )
    if not succeeded + retried + failed:
        return f"Nothing has ended in {plural(len(minutes), 'minute')}."
    busiest = max(minutes, key=lambda minute: sum(minute.counts))
    return (
        f"{succeeded:,} succeeded, {retried:,} retried, {failed:,} failed in "
        f"{plural(len(minutes), 'minute')}; the busiest was "
        f"{minute_text(busiest.at)} with {sum(busiest.counts):,}."
    )


def _row(minute: MinuteOutcomes) -> tuple[str, ...]:
    return (minute_text(minute.at), *(f"{count:,}" for count in minute.counts))
