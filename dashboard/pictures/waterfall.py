"""Draws the attempts of an execution on one time axis: queue wait, connection, answer, retries.

Long waits are cut short and labelled. Each attempt's numbers are in its row, each phase's in the
table.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.utils.safestring import SafeString

from dashboard.pictures.attempt_phases import (
    PHASES,
    AttemptFacts,
    Phase,
    origin_of,
    phases_of,
)
from dashboard.pictures.badge import state_badge
from dashboard.pictures.broken_axis import BrokenAxis
from dashboard.pictures.markup import Table, figure, joined, percent, plural, tag
from dashboard.pictures.patterns import pattern
from dashboard.pictures.time_ruler import cut_band, ruler
from dashboard.state_vocabulary import look_of
from executions.choices import AttemptOutcome
from shared.duration_words import duration_text

_ROW, _BAR_TOP, _BAR_HEIGHT, _FOOT = 48, 22, 16, 26
#: So that a phase of a microsecond is still seen.
_THINNEST = 0.003
_HATCHED = {"queue": "rising", "no_answer": "crossed"}


def waterfall(
    attempts: Sequence[AttemptFacts], *, now: datetime, duration_ms: float | None = None
) -> SafeString:
    """Return the waterfall in the order of the attempts; a running one is drawn up to ``now``.

    ``duration_ms`` is the time of an ended execution from its first start to its end.
    """
    shown = list(attempts)
    origin = origin_of(shown, now)
    rows = [(attempt, phases_of(attempt, origin, now)) for attempt in shown]
    axis = _axis([phases for _, phases in rows])
    summary = _summary(rows, duration_ms)
    height = len(rows) * _ROW + _FOOT
    drawing = tag(
        "svg",
        {
            "class": "waterfall",
            "width": "100%",
            "height": height,
            "role": "img",
            "aria-label": summary,
        },
        tag("defs", {}, *_patterns()),
        *(cut_band(piece, height - _FOOT) for piece in axis.cuts),
        *(_row(attempt, phases, axis, place) for place, (attempt, phases) in enumerate(rows)),
        ruler(axis, height),
    )
    table = Table(
        ("Attempt", "Outcome", "Status", "Begins after", *(word for word in PHASES.values())),
        [_table_row(attempt, phases) for attempt, phases in rows],
    )
    return figure("waterfall", "Attempts", summary, _legend(rows), drawing, table=table)


_Rows = Sequence[tuple[AttemptFacts, list[Phase]]]


def _axis(rows: Sequence[list[Phase]]) -> BrokenAxis:
    busy = [
        (phase.start, phase.end) for phases in rows for phase in phases if phase.name != "queue"
    ]
    knots = [moment for phases in rows for phase in phases for moment in (phase.start, phase.end)]
    return BrokenAxis(busy, knots)


def _row(attempt: AttemptFacts, phases: list[Phase], axis: BrokenAxis, place: int) -> SafeString:
    top = place * _ROW
    begin = f"+{duration_text(phases[0].start)}" if phases and phases[0].start else ""
    return tag(
        "g",
        {"class": "attempt"},
        tag(
            "text",
            {"class": f"attempt-label {look_of(attempt.state).css}", "y": top + 15},
            *_label(attempt, phases),
        ),
        tag("text", {"class": "tick at-end spare", "x": "100%", "y": top + 15}, begin),
        tag(
            "rect",
            {"class": "lane", "width": "100%", "y": top + _BAR_TOP, "height": _BAR_HEIGHT, "rx": 3},
        ),
        *(_bar(phase, axis, top + _BAR_TOP) for phase in phases),
        _wait_label(phases, axis, top + _BAR_TOP),
    )


def _label(attempt: AttemptFacts, phases: list[Phase]) -> tuple[SafeString | str, ...]:
    """Return the number in plain, the outcome in the state's colour, and the duration."""
    outcome = f"{look_of(attempt.state).label} {_answer(attempt)}".rstrip()
    return (
        tag("tspan", {"class": "attempt-number"}, f"Attempt {attempt.number}"),
        tag("tspan", {"class": "attempt-outcome", "dx": 8}, outcome),
        tag("tspan", {"class": "attempt-spent", "dx": 8}, duration_text(_duration([phases]))),
    )


def _answer(attempt: AttemptFacts) -> str:
    if attempt.response_status:
        return str(attempt.response_status)
    # "timed out" is enough here; the table names the timeout.
    return "" if attempt.state == AttemptOutcome.TIMED_OUT else attempt.error_code


def _bar(phase: Phase, axis: BrokenAxis, top: int) -> SafeString:
    left, right = axis.place(phase.start), axis.place(phase.end)
    width = max(right - left, _THINNEST)
    name = phase.name.replace("_", "-")
    fill = f"url(#wf-{name})" if phase.name in _HATCHED else None
    return tag(
        "rect",
        {
            "class": f"phase phase-{name}",
            "x": percent(min(left, 1 - width)),
            "width": percent(width),
            "y": top,
            "height": _BAR_HEIGHT,
            "fill": fill,
        },
        tag("title", {}, f"{PHASES[phase.name]} {duration_text(phase.length)}"),
    )


def _wait_label(phases: list[Phase], axis: BrokenAxis, top: int) -> SafeString:
    """Return the words of the cut waits that end where this attempt's phases begin."""
    starts = {phases[0].start, phases[0].end} if phases else set()
    labels = []
    for piece in axis.cuts:
        if piece.end in starts:
            at_left = piece.left == 0
            labels.append(
                tag(
                    "text",
                    {
                        "class": f"cut-label {'at-start' if at_left else 'at-end'}",
                        "x": percent(piece.left if at_left else piece.right),
                        "dx": 6 if at_left else -6,
                        "y": top + _BAR_HEIGHT - 4,
                    },
                    f"⋯ {duration_text(piece.end - piece.start)}",
                )
            )
    return joined(labels)


def _patterns() -> list[SafeString]:
    names = ((name, name.replace("_", "-")) for name in _HATCHED)
    return [pattern(f"wf-{css}", _HATCHED[name], f"phase-{css}") for name, css in names]


def _legend(rows: _Rows) -> SafeString:
    used = {phase.name for _, phases in rows for phase in phases}
    keys = [(name.replace("_", "-"), word) for name, word in PHASES.items() if name in used]
    return tag(
        "ul",
        {"class": "legend", "aria-hidden": "true"},
        *(tag("li", {}, tag("span", {"class": f"key key-{css}"}), word) for css, word in keys),
    )


def _summary(rows: _Rows, duration_ms: float | None) -> str:
    if not rows:
        return "There was no attempt yet."
    spent = _duration([phases for _, phases in rows]) if duration_ms is None else duration_ms
    within = "" if spent is None else f" in {duration_text(spent)} from the first start"
    last = look_of(rows[-1][0].state).label
    return f"{plural(len(rows), 'attempt')}{within}; the last {last}."


def _duration(attempts: Sequence[list[Phase]]) -> float | None:
    """Return the time from the first start to the last end; None without a start."""
    spent = [phase for phases in attempts for phase in phases if phase.name != "queue"]
    if not spent:
        return None
    return max(phase.end for phase in spent) - min(phase.start for phase in spent)


def _table_row(attempt: AttemptFacts, phases: list[Phase]) -> tuple[str, ...]:
    lengths = {phase.name: phase.length for phase in phases}
    return (
        str(attempt.number),
        state_badge(attempt.state),
        str(attempt.response_status or attempt.error_code or "–"),
        duration_text(phases[0].start if phases else None),
        *(duration_text(lengths.get(name)) for name in PHASES),
    )
