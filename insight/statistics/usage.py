"""The usage of tenants by day in UTC, for charging back.

Counts what the recorder has written: attempts and executions by the minute of their end, with no
scan of the history. Today and yesterday are read from the minutes, earlier days from their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

from executions.ledger.usage_days import midnight
from executions.loop.clocks import database_now
from shared.exceptions import FieldError, InvalidInput
from shared.sql import rows

#: Days that one question may ask for.
MOST_DAYS = 400
DAYS = 30
_DAY = timedelta(days=1)
_FIRST_YEAR, _LAST_YEAR = 2000, 2199


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tenant has used on a day; an execution is a call of a task or of a workflow's step.

    ``started`` counts executions whose first attempt ended on the day; ``recorded_bytes`` are
    those of the answers and logs that its attempts keep, encrypted.
    """

    tenant_id: UUID
    day: date
    started: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    attempts: int = 0
    execution_ms: int = 0
    recorded_bytes: int = 0
    runs_succeeded: int = 0
    runs_failed: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """Days in UTC, both included."""

    first: date
    last: date

    @property
    def days(self) -> list[date]:
        """Return each day, the first one first."""
        return [self.first + number * _DAY for number in range((self.last - self.first).days + 1)]


def read_day(text: str) -> date:
    """Return the day of ``YYYY-MM-DD``; raise ValueError."""
    try:
        found = date.fromisoformat(text)
    except ValueError:
        found = date.min
    # A week's day and a text without dashes are ISO dates, too.
    if found.isoformat() != text or not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        raise ValueError(f"Give a day as YYYY-MM-DD, of the years {_FIRST_YEAR} to {_LAST_YEAR}.")
    return found


def span_of(
    first: date | None, last: date | None, names: tuple[str, str] = ("?from", "?to")
) -> Span:
    """Return the days asked for: up to today, and 30 of them, unless given.

    Raise InvalidInput for days in the wrong order, or more than 400. ``names`` are what the caller
    calls the two days.
    """
    until = last or max(midnight(database_now()).date(), first or date.min)
    since = first or until - (DAYS - 1) * _DAY
    if since > until:
        raise _refused(names[0], "out_of_range", f"{since} is after {until}: give the earlier day.")
    if (until - since).days >= MOST_DAYS:
        message = f"At most {MOST_DAYS} days at a time: give a later first day."
        raise _refused(names[0], "out_of_range", message)
    return Span(since, until)


def usage_of(tenant_id: UUID, span: Span) -> list[Usage]:
    """Return a tenant's usage of each day, the first one first, days without any too."""
    found = {one.day: one for one in usage_of_many([tenant_id], span)}
    return [found.get(day) or Usage(tenant_id, day) for day in span.days]


def usage_of_many(tenant_ids: Sequence[UUID], span: Span) -> list[Usage]:
    """Return the usage of tenants by tenant and day; days without any are left out."""
    live = midnight(database_now()) - _DAY
    parameters = {"tenants": list(tenant_ids), "live": live}
    found = rows("usage_reads/days_of", {**parameters, "first": span.first, "last": span.last})
    return [Usage(*row) for row in found]


def _refused(name: str, code: str, message: str) -> InvalidInput:
    return InvalidInput([FieldError(name, code, message)], message)
