"""What the tabs of ``top`` show: each is read at once, and bounded.

Rows are of all tenants. Times are of the database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from operations.dead_letters.letters import letters_of
from operations.finding import ID_TAIL, executions_of
from operations.management.commands.status import lines as status_lines
from operations.management.commands.workers import documents_of as worker_documents
from operations.status import read_status
from shared.duration_words import duration_text
from tasks.models import Task
from tenants.models import Tenant
from wire.heartbeats import everyone

#: Rows of a tab; the next ones come up as these end.
MOST = 200
_UNDER_WAY = (Status.RUNNING, Status.QUEUED)
_WAITING = (Status.PENDING, Status.RETRYING)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a tab; ``id`` is None where nothing can be done with it."""

    cells: tuple[str, ...]
    tenant_id: UUID | None = None
    id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A tab as it was read: its heading, empty for plain lines, and its rows."""

    heading: tuple[str, ...]
    rows: tuple[Row, ...]


def overview() -> Shown:
    """Return the lines of ``status``, of the whole installation."""
    return Shown((), tuple(Row((line,)) for line in status_lines(read_status())))


def under_way() -> Shown:
    """Return executions that a worker has or is about to get, the oldest first."""
    rows = executions_of(None).filter(status__in=_UNDER_WAY).order_by("id")[:MOST]
    now = database_now()
    return _executions(
        rows,
        ("id", "state", "for", "tries", "worker", "tenant", "task"),
        lambda one: (
            one.status,
            _age(one.started_at or one.due_at, now),
            _tries(one),
            one.worker or "-",
        ),
    )


def waiting() -> Shown:
    """Return executions whose time has come and that no worker has, the longest due first."""
    now = database_now()
    rows = executions_of(None).filter(status__in=_WAITING, due_at__lte=now)
    return _executions(
        rows.order_by("due_at", "id")[:MOST],
        ("id", "state", "late by", "tries", "host", "tenant", "task"),
        lambda one: (one.status, _age(one.due_at, now), _tries(one), one.destination or "-"),
    )


def failed() -> Shown:
    """Return open dead letters, the newest first."""
    letters = list(letters_of(None).filter(resolved=False).order_by("-created_at")[:MOST])
    names, tenants = _named(letters)
    now = database_now()
    rows = tuple(
        Row(
            (
                str(one.pk)[-ID_TAIL:],
                _age(one.created_at, now),
                str(one.attempt_count),
                one.error_signature,
                tenants.get(one.tenant_id, ""),
                names.get(one.task_id, ""),
            ),
            one.tenant_id,
            one.pk,
        )
        for one in letters
    )
    return Shown(("id", "failed ago", "tries", "cause", "tenant", "task"), rows)


def workers() -> Shown:
    """Return the workers of all pools, lost ones of the last day too, the fullest first."""
    found = sorted(
        worker_documents(everyone()), key=lambda one: (-(one["in_flight"] or 0), one["id"])
    )
    rows = tuple(
        Row((one["id"], one["state"], one["pool"], f"{one['in_flight'] or 0}/{one['capacity']}"))
        for one in found[:MOST]
    )
    return Shown(("worker", "state", "pool", "slots"), rows)


#: Tab -> what reads it.
TABS: Mapping[str, Callable[[], Shown]] = {
    "overview": overview,
    "under way": under_way,
    "waiting": waiting,
    "failed": failed,
    "workers": workers,
}


def _executions(
    found: Iterable[Execution],
    heading: tuple[str, ...],
    cells: Callable[[Execution], tuple[str, ...]],
) -> Shown:
    executions = list(found)
    names, tenants = _named(executions)
    rows = tuple(
        Row(
            (
                str(one.pk)[-ID_TAIL:],
                *cells(one),
                tenants.get(one.tenant_id, ""),
                names.get(one.task_id, ""),
            ),
            one.tenant_id,
            one.pk,
        )
        for one in executions
    )
    return Shown(heading, rows)


def _named(
    rows: Sequence[Execution | DeadLetter],
) -> tuple[dict[UUID, str], dict[UUID, str]]:
    """Return the names of the rows' tasks, deleted ones too, and of their tenants."""
    tasks = Task.objects.filter(id__in={row.task_id for row in rows})
    tenants = Tenant.objects.filter(id__in={row.tenant_id for row in rows})
    return dict(tasks.values_list("id", "name")), dict(tenants.values_list("id", "name"))


def _tries(one: Execution) -> str:
    return f"{one.attempt}/{one.max_attempts}"


def _age(since: datetime | None, now: datetime) -> str:
    return duration_text(None if since is None else (now - since).total_seconds() * 1000)
