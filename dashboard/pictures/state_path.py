"""Draws the states of an execution with the path that it took, and how long each stay was.

The edges come from the table of moves in executions/states.py. The list below the diagram gives
the same path in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from django.templatetags.static import static
from django.utils.safestring import SafeString

from dashboard.pictures.badge import state_badge
from dashboard.pictures.markup import Attributes, Table, figure, plural, tag
from dashboard.pictures.state_layout import (
    HEIGHT,
    NODE_HEIGHT,
    NODE_WIDTH,
    PLACES,
    WIDTH,
    route_between,
)
from dashboard.state_vocabulary import look_of
from executions.states import ALLOWED
from shared.clock_text import clock_text
from shared.duration_words import duration_text

#: A move that stays in its state, as when a receiver takes a run over, has no arrow.
_DRAWN = frozenset((source, target) for source, target in ALLOWED if source != target)
_ICON = 12
_SCROLLED: Attributes = {"tabindex": 0, "role": "group", "aria-label": "State diagram"}


@dataclass(frozen=True, slots=True)
class Visit:
    """A state that the execution entered, and when."""

    state: str
    at: datetime


def state_path(visits: Sequence[Visit]) -> SafeString:
    """Return the diagram; visits are in the order in which they happened."""
    taken = _taken(visits)
    summary = _summary(visits)
    idle = sorted(_DRAWN - taken.keys())
    drawing = tag(
        "svg",
        {
            "class": "state-path",
            "viewBox": f"0 0 {WIDTH} {HEIGHT}",
            "role": "img",
            "aria-label": summary,
        },
        tag("defs", {}, _arrow("sp-idle"), _arrow("sp-taken")),
        *(_edge(source, target, "idle") for source, target in idle),
        *(_edge(source, target, "taken") for source, target in taken),
        *(_node(state, visits) for state in PLACES),
        *(_label(edge, stays) for edge, stays in taken.items()),
    )
    # On a phone its words would be too small to read, so it scrolls there.
    wide = tag("div", {"class": "picture-wide", **_SCROLLED}, drawing)
    rows = [_row(visit, visits[place - 1] if place else None) for place, visit in enumerate(visits)]
    table = Table(("State", "At", "After"), rows)
    return figure("states", "Path through its states", summary, wide, table=table)


def _taken(visits: Sequence[Visit]) -> dict[tuple[str, str], list[timedelta]]:
    """Return the edges of the path in their order, each with the stays before it."""
    taken: dict[tuple[str, str], list[timedelta]] = {}
    for before, after in pairwise(visits):
        if before.state != after.state:
            edge = (str(before.state), str(after.state))
            taken.setdefault(edge, []).append(max(after.at - before.at, timedelta()))
    return taken


def _edge(source: str, target: str, kind: str) -> SafeString:
    attributes = {
        "class": f"edge edge-{kind}" + ("" if (source, target) in _DRAWN else " edge-other"),
        "d": route_between(source, target).line,
        "marker-end": f"url(#sp-{kind})",
    }
    return tag("path", attributes)


def _label(edge: tuple[str, str], stays: Sequence[timedelta]) -> SafeString:
    route = route_between(*edge)
    spent = duration_text(sum(stays, timedelta()).total_seconds() * 1000)
    text = spent if len(stays) == 1 else f"{len(stays)}x {spent}"
    return tag("text", {"class": f"edge-label {route.anchor}", "x": route.x, "y": route.y}, text)


def _node(state: str, visits: Sequence[Visit]) -> SafeString:
    x, y = PLACES[state]
    look = look_of(state)
    left, top = x - NODE_WIDTH / 2, y - NODE_HEIGHT / 2
    kind = "idle"
    if any(visit.state == state for visit in visits):
        kind = "now" if visits[-1].state == state else "visited"
    return tag(
        "g",
        {"class": f"node node-{kind} {look.css}"},
        tag(
            "rect",
            {"x": left, "y": top, "width": NODE_WIDTH, "height": NODE_HEIGHT, "rx": 7},
        ),
        tag(
            "use",
            {
                "href": f"{static('icons.svg')}#{look.icon}",
                "x": left + 6,
                "y": y - _ICON / 2,
                "width": _ICON,
                "height": _ICON,
            },
        ),
        tag("text", {"class": "node-label", "x": left + 21, "y": y + 4}, look.label),
    )


def _arrow(identity: str) -> SafeString:
    return tag(
        "marker",
        {
            "id": identity,
            "class": identity,
            "viewBox": "0 0 8 8",
            "refX": 5,
            "refY": 4,
            "markerWidth": 7,
            "markerHeight": 7,
            "markerUnits": "userSpaceOnUse",
            "orient": "auto",
        },
        tag("path", {"d": "M0 .5L7.5 4L0 7.5z"}),
    )


def _summary(visits: Sequence[Visit]) -> str:
    if not visits:
        return "Nothing is recorded yet."
    last = look_of(visits[-1].state).label
    moves = len(visits) - 1
    if not moves:
        return f"It is {last} since it exists."
    # No time from end to end: it would begin when the row was prepared, which is no duration.
    return f"From {look_of(visits[0].state).label} to {last} in {plural(moves, 'move')}."


def _row(visit: Visit, before: Visit | None) -> tuple[str, ...]:
    at = clock_text(visit.at, "ms")
    after = None if before is None else max(visit.at - before.at, timedelta())
    spent = duration_text(None if after is None else after.total_seconds() * 1000)
    return state_badge(visit.state), at, spent
