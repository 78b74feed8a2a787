"""A break of the demo at the terminal: follow it to its end, and its figures as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

from insight.demo_break import Moment, Report, report
from insight.presentation.demo_break import KINDS, headline, since
from notifications.circuit_stretches import circuit_stretches
from operations.following import wait_for
from shared.commands import table
from shared.exceptions import NotFound

_PAUSE_SECONDS = 0.5


def current(tenant_id: UUID) -> Report:
    """Return the last break of the demo tenant; raise NotFound before the first one."""
    found = report(tenant_id, circuit_stretches)
    if found is None:
        raise NotFound("Nothing has been broken yet: `manage.py demo break worker`.")
    return found


def follow(
    tenant_id: UUID,
    tell: Callable[[str], None],
    wait: Callable[[float], None] = wait_for,
) -> Report:
    """Tell each moment of the last break once, until it is over; return its report.

    It ends at the latest at ``Break.gives_up_at``.
    """
    told: set[Moment] = set()
    while True:
        found = current(tenant_id)
        for moment in found.moments:
            if moment not in told:
                told.add(moment)
                tell(line_of(found, moment))
        if found.phase == "over":
            return found
        wait(_PAUSE_SECONDS)


def line_of(found: Report, moment: Moment) -> str:
    """Return a moment as a line: the seconds since the strike, and what happened."""
    return f"{since(found, moment.at):+7.1f} s  {moment.text}"


def lines(found: Report) -> Iterator[str]:
    """Yield the figures of a break for people."""
    counts = found.counts
    yield f"{KINDS[found.broken.kind][0]}: {headline(found)[1]}"
    yield ""
    yield from table(
        ("COUNTED", "PUNCTUAL", "RECEIVER"),
        [
            ("instants that have run", counts.succeeded, counts.arrived),
            ("retries", counts.retries, counts.sent_again),
            ("attempts that arrived twice", None, counts.doubled),
            ("failed or skipped", counts.failed + counts.skipped, None),
            ("began over 1 s late", counts.late, None),
            ("taken back unstarted or lost", counts.taken_back, None),
        ],
    )
