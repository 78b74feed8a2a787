"""Tells the room of workflows that steps have ended, when the transaction that ended them commits.

The ledger does not know workflows: they listen. Where that fails, the rows of the inbox stay, and
a scheduler advances their runs a second later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.dispatch import Signal

#: Sent with ``runs``, the ids of runs that have something in their inbox.
runs_told = Signal()
#: Sent with ``execution``, an ended take, its locked ``task``, ``override`` and ``actor``: the
#: listener begins the next take of its run and returns the execution.
take_retried = Signal()
#: Sent with ``partitions`` by a scheduler that starts; listeners return stages of its loop.
scheduler_starts = Signal()


def tell(run_ids: Iterable[UUID | None]) -> None:
    """Tell of runs with something in their inbox, after this transaction commits."""
    runs = sorted({run_id for run_id in run_ids if run_id is not None})
    if runs:
        transaction.on_commit(lambda: runs_told.send(sender=None, runs=runs), robust=True)


def retry_take(**facts: Any) -> UUID:
    """Begin the next take of the run of an ended take; return its execution.

    The facts are those of ``take_retried``. Raise what the retry of a run raises.
    """
    [(_, execution_id)] = take_retried.send(sender=None, **facts)
    return cast(UUID, execution_id)
