"""The fence: holds a whole installation still after its database was taken back in time (J5).

A restored database says of work that ran after the dump that it is still to come. The fence owns
every partition until somebody confirms: no scheduler prepares, releases or rescues anything. It
is rows that every release of the schema has, so that it stands before any process starts.
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

#: Who owns the partitions meanwhile; no scheduler draws this id.
OWNER = UUID("fe0ce000-0000-8000-8000-000000000000")
#: What the fence is called where owners of partitions are shown.
NAME = "fence (manage.py restore --confirm)"
#: No installation takes a partition over so often, or releases so much (10,000 a second for three
#: years), between the dump and the restore; both numbers last for thousands of restores.
_EPOCHS = 1_000_000
_TOKENS = 2**40
_BATCH = 1000


def hold(cursor: Any) -> int:
    """Let the fence stand, in the cursor's transaction; return how many partitions it took.

    Epochs and tokens jump past all that can have been used, so that nothing from after the dump
    (a scheduler that wakes up, an outcome, a message) fits a row any more. Repeating it is safe.
    """
    cursor.execute(statement("fence/hold_leases"), {"fence": OWNER, "epochs": _EPOCHS})
    taken = int(cursor.rowcount)
    cursor.execute(statement("fence/skip_tokens"), {"tokens": _TOKENS})
    return taken


def holds() -> bool:
    """Return whether the fence stands."""
    return bool(rows("fence/holds", {"fence": OWNER})[0][0])


def lift() -> int:
    """Let schedulers take the partitions again; return how many, 0 when it did not stand."""
    taken = run("fence/lift", {"fence": OWNER})
    if taken:
        wake_schedulers_now()
    return taken


def take_back_released() -> int:
    """Return to PENDING what was released before the dump, so that its policy decides on it.

    Raise Unavailable when Redis cannot be asked; what was taken back until then stays so. What
    the start guard says has started counts as RUNNING, and is rescue's.
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
