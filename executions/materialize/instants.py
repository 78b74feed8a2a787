"""Write the instants of a pass of materialize: open ones, and ones that do not run.

The two parts of the ledger have no key in common, so each insert checks the other part.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime
from uuid import UUID

from executions.choices import Status
from executions.ledger import days as ledger
from executions.materialize.planning import Row
from shared.ids import execution_id
from shared.sql import rows
from shared.sql_arrays import of_integers, of_moments, of_texts, of_uuids


class DaysMissing(Exception):
    """Some instants lie on days that have no table."""

    def __init__(self, days: list[datetime]) -> None:
        super().__init__(f"{len(days)} days have no table")
        self.days = days


class AlreadyEnded(Exception):
    """Some instants have ended already; the whole pass must roll back."""

    def __init__(self, ids: set[UUID]) -> None:
        super().__init__(f"{len(ids)} instants have ended")
        self.ids = ids


def insert(found: list[Row], owner: dict[str, object], now: datetime, ended: Set[UUID]) -> int:
    """Insert the rows, except the ones of ``ended``; return how many are new.

    Part of the pass's transaction; raise DaysMissing or AlreadyEnded, so that all of it is undone.
    """
    ids = [execution_id(row.task, row.at) for row in found]
    if ledger.is_old(min(ids), now):
        missing = ledger.missing_days(row.at for row in found)
        if missing:
            raise DaysMissing(missing)
    new = {one: row for one, row in zip(ids, found, strict=True) if one not in ended}
    to_run = {one: row for one, row in new.items() if row.status == Status.PENDING}
    unstarted = {one: row for one, row in new.items() if row.status != Status.PENDING}
    made = 0
    if to_run:
        made += rows("materialize/insert_open", {**owner, **_columns(to_run)})[0][0]
        # A statement of its own: it sees rows that the insert may have waited for.
        look = {"ids": of_uuids(list(to_run)), "low": min(to_run), "high": max(to_run)}
        if met := {row[0] for row in rows("materialize/already_ended", look)}:
            raise AlreadyEnded(met)
    if unstarted:
        ends = {
            "statuses": of_texts([row.status for row in unstarted.values()]),
            "span_last": of_moments([row.span_last for row in unstarted.values()]),
            "span_count": of_integers([row.span_count for row in unstarted.values()]),
        }
        parameters = {**owner, **_columns(unstarted), **ends}
        made += rows("materialize/insert_unstarted", parameters)[0][0]
    return made


def _columns(found: dict[UUID, Row]) -> dict[str, object]:
    return {
        "ids": of_uuids(list(found)),
        "task_ids": of_uuids([row.task for row in found.values()]),
        "scheduled_for": of_moments([row.at for row in found.values()]),
        "due_at": of_moments([row.due for row in found.values()]),
        "reasons": of_texts([row.reason for row in found.values()]),
    }
