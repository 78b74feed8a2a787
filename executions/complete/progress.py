"""The progress of running work: the last report of each run, kept encrypted.

The next attempt gets it. Progress changes no state: it is written under the token, and a stale
report is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from executions.complete.outcome_reports import Progress
from executions.ledger.settling import joined


def note(said: Iterable[object]) -> list[UUID]:
    """Store the last progress of each run; return the executions whose progress was stored."""
    last = {one.token: one for one in said if isinstance(one, Progress)}
    if not last:
        return []
    ids = [one.execution_id for one in last.values()]
    stored = joined(
        "complete/note_progress",
        {
            "ids": ids,
            "tokens": list(last),
            "sealed": [one.sealed for one in last.values()],
        },
    )
    return [row[0] for row in stored]
