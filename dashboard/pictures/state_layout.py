"""The places of the state diagram's states and the routes of its edges.

Data for dashboard/pictures/state_path.py; a test holds both maps complete against the choices
and the moves of the runtime. An edge that has no route here is a straight line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from executions.choices import Status

WIDTH, HEIGHT = 380, 322
NODE_WIDTH, NODE_HEIGHT = 90, 28
_FINAL_Y = 302

#: The middle of each state's box.
PLACES: Mapping[str, tuple[int, int]] = {
    Status.PENDING: (122, 20),
    Status.QUEUED: (122, 110),
    Status.RUNNING: (122, 200),
    Status.RETRYING: (314, 110),
    Status.CANCELLED: (47, _FINAL_Y),
    Status.SUCCEEDED: (142, _FINAL_Y),
    Status.FAILED: (238, _FINAL_Y),
    Status.SKIPPED: (333, _FINAL_Y),
}


@dataclass(frozen=True, slots=True)
class Route:
    """The line of an edge, the place of its label and the side to which the label grows."""

    line: str
    x: float
    y: float
    anchor: str = "at-start"


ROUTES: Mapping[tuple[str, str], Route] = {
    (Status.PENDING, Status.QUEUED): Route("M114 34V93", 108, 69, "at-end"),
    (Status.QUEUED, Status.PENDING): Route("M130 96V37", 137, 69),
    (Status.QUEUED, Status.RUNNING): Route("M122 124V183", 129, 160),
    (Status.QUEUED, Status.RETRYING): Route("M167 104H266", 217, 98, "at-middle"),
    (Status.RETRYING, Status.QUEUED): Route("M269 116H170", 217, 132, "at-middle"),
    (Status.RUNNING, Status.RETRYING): Route(
        "M167 200H292Q306 200 306 186V127", 299, 168, "at-end"
    ),
    (Status.RUNNING, Status.SUCCEEDED): Route("M128 214C128 246 142 252 142 285", 137, 250),
    (Status.RUNNING, Status.FAILED): Route("M148 214C154 252 232 244 238 285", 203, 250),
    (Status.QUEUED, Status.SUCCEEDED): Route("M152 124C190 156 190 246 154 285", 184, 182),
    (Status.QUEUED, Status.FAILED): Route("M160 124C214 160 239 226 245 285", 228, 214),
    (Status.PENDING, Status.SKIPPED): Route("M167 20H359Q369 20 369 30V285", 363, 69, "at-end"),
    (Status.PENDING, Status.CANCELLED): Route("M77 20H25Q15 20 15 30V285", 21, 69),
    (Status.QUEUED, Status.CANCELLED): Route("M77 110H45Q35 110 35 120V285", 41, 160),
    (Status.RUNNING, Status.CANCELLED): Route("M77 200H65Q55 200 55 210V285", 61, 238),
    (Status.RETRYING, Status.CANCELLED): Route(
        "M342 124V256Q342 266 332 266H85Q75 266 75 276V285", 336, 258, "at-end"
    ),
}


def route_between(source: str, target: str) -> Route:
    """Return the route of an edge, or the straight line between its states."""
    found = ROUTES.get((source, target))
    if found is not None:
        return found
    (from_x, from_y), (to_x, to_y) = PLACES[source], PLACES[target]
    line = f"M{from_x} {from_y}L{to_x} {to_y}"
    return Route(line, (from_x + to_x) / 2, (from_y + to_y) / 2, "at-middle")
