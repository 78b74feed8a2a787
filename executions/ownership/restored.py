"""Preview the work that a restored installation would run, and confirm the restore.

``restore --confirm`` shows the preview and confirms. No past work runs by accident: the misfire
policy decides on unstarted work, and rescue takes back work that was under way, at least once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from events import audit
from executions.loop.clocks import database_now
from executions.ownership import fence
from shared.actor import Actor
from shared.exceptions import Conflict
from shared.sql import rows, run
from tenants.models import Tenant

PAUSE, CONTINUE, CANCEL = "pause", "continue", "cancel"
#: What a confirmation does with open runs of workflows; the first unless it says.
RUNS = (PAUSE, CONTINUE, CANCEL)


@dataclass(frozen=True, slots=True)
class PolicyShare:
    """Tasks of one misfire policy with instants in the past; ``prepared`` are in the ledger."""

    policy: str
    tasks: int
    prepared: int


@dataclass(frozen=True, slots=True)
class Preview:
    """The work that would run after the confirmation, counted at one moment.

    ``known_until`` is the last sign of a scheduler's life: later events are not known.
    """

    known_until: datetime
    now: datetime
    policies: list[PolicyShare]
    running: int
    outside: int
    retries_due: int
    retries_waiting: int
    asked_due: int
    bulk_jobs: int
    #: Runs of workflows that have begun.
    runs: int

    def as_json(self) -> dict[str, Any]:
        """Return the form of ``restore --confirm --json``."""
        return asdict(self)


def preview() -> Preview:
    """Return the preview; raise Conflict ``not_fenced`` when no restore waits for confirmation."""
    if not fence.holds():
        message = "Nothing to confirm: no restore is waiting for confirmation."
        raise Conflict(message, code="not_fenced")
    known_until, now = rows("fence/last_sign")[0]
    shares = [PolicyShare(*row) for row in rows("fence/overdue_tasks")]
    running, outside, due, waiting, asked = rows("fence/unfinished")[0]
    return Preview(
        known_until=known_until,
        now=now,
        policies=shares,
        running=running,
        outside=outside,
        retries_due=due,
        retries_waiting=waiting,
        asked_due=asked,
        bulk_jobs=rows("fence/bulk_jobs_open")[0][0],
        runs=rows("fence/runs_open")[0][0],
    )


def confirm(seen: Preview, *, actor: Actor, runs: str = RUNS[0]) -> int:
    """Let the installation run; return how much released work was taken back for the policies.

    ``runs`` is what becomes of open runs of workflows, a word of RUNS; what they wait for, and
    their deadlines, move by the time that was lost. Raise Unavailable when Redis cannot be asked,
    which leaves the fence up, and Conflict when another call has confirmed first.
    """
    taken_back = fence.take_back_released()
    now = database_now()
    facts = {"known_until": seen.known_until, "confirmed_at": now, "runs": runs}
    with transaction.atomic():
        if not fence.lift():
            raise Conflict("Another operator has confirmed this restore.", code="not_fenced")
        run("fence/move_waits", {"lost": (now - seen.known_until).total_seconds()})
        if runs == PAUSE:
            run("fence/pause_runs")
        elif runs == CANCEL:
            run("fence/cancel_runs")
        for tenant in Tenant.objects.order_by("id"):
            audit.record(tenant.id, actor, "restore.confirmed", "tenant", tenant.id, after=facts)
    return taken_back
