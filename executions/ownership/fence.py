"""The fence: stops a whole installation after a restore of its database.

In a restored database, work that ran after the dump is still to come. The fence owns every
partition until the operator confirms: no scheduler prepares, releases or rescues work. It consists
of rows that every release of the schema has, so that it is there before any process starts.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from executions import transitions
from executions.loop.clocks import database_now
from shared.notify import wake_schedulers_now
from shared.sql import rows, run, statement
from wire import start_guard

#: The owner of the partitions meanwhile; no scheduler draws this id.
OWNER = UUID("fe0ce000-0000-8000-8000-000000000000")
#: The name of the fence where owners of partitions are shown.
NAME = "fence (manage.py restore --confirm)"
#: No installation has this many takeovers of a partition, or releases (10,000 a second for three
#: years), between the dump and the restore; both numbers last for thousands of restores.
_EPOCHS = 1_000_000
_TOKENS = 2**40
_BATCH = 1000


def hold(cursor: Any) -> int:
    """Put the fence up, in the cursor's transaction; return how many partitions it took.

    Epochs and tokens jump past all values that can have been used, so that no scheduler, outcome or
    message from after the dump fits a row any more. Repeating it is safe.
    """
    cursor.execute(statement("fence/hold_leases"), {"fence": OWNER, "epochs": _EPOCHS})
    taken = int(cursor.rowcount)
    cursor.execute(statement("fence/skip_tokens"), {"tokens": _TOKENS})
    return taken


def holds() -> bool:
    """Return whether the fence is up."""
    return bool(rows("fence/holds", {"fence": OWNER})[0][0])


def lift() -> int:
    """Give the partitions back to the schedulers; return how many, 0 when there was no fence."""
    taken = run("fence/lift", {"fence": OWNER})
    if taken:
        wake_schedulers_now()
    return taken


def take_back_released() -> int:
    """Return work that was released before the dump to PENDING, so that its policy decides on it.

    Raise Unavailable when Redis cannot be asked; work taken back until then stays so. Work that
    the start guard reports as started becomes RUNNING, and rescue handles it.
    """
    bounds = {"limit": _BATCH}
    moved = 0
    while found := rows("fence/released", bounds):
        holders = start_guard.void([token for _, token in found])
        pairs = list(zip(found, holders, strict=True))
        now = database_now()
        with transaction.atomic():
            moved += len(transitions.withdraw([row for row, by in pairs if not by]))
            transitions.mark_running([(*row, by, now) for row, by in pairs if by])
    return moved
