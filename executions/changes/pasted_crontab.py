"""Plans and imports a crontab that a call or a form gives as text.

A plan is the import itself in a savepoint that is rolled back: it shows exactly what would be made,
and calls nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from uuid import UUID

from django.db import transaction

from executions.changes.importing import Planned, Source, import_crontab
from executions.loop.clocks import database_now
from shared.actor import Actor
from shared.exceptions import FieldError, InvalidInput
from tasks.calendars import limits_of
from tasks.importers.crontab import parse_crontab
from tasks.schedules.zones import find_zone

#: Each job costs some milliseconds in the transaction of the call.
MOST_JOBS = 1000
MOST_CHARACTERS = 200_000
SOURCE_LENGTH = 60
DEFAULT_SOURCE = "crontab"


@dataclass(frozen=True, slots=True)
class PastedCrontab:
    """The text, the webhook that its tasks call, and how its lines are read.

    ``source`` is the name by which a later import of the same file finds its tasks; ``timezone``
    is that of lines without a ``CRON_TZ`` above them; ``system``: a user precedes each command.
    """

    crontab: str
    url: str
    source: str = DEFAULT_SOURCE
    timezone: str = "UTC"
    system: bool = False


def run_import(
    tenant_id: UUID, pasted: PastedCrontab, *, actor: Actor, dry_run: bool
) -> list[Planned]:
    """Import the jobs as paused tasks, or with ``dry_run`` only plan; return the lines in order.

    All lines are imported together. Raise InvalidInput with the wrong fields, QuotaExceeded.
    """
    with transaction.atomic():
        plan = _imported(tenant_id, pasted, actor)
        if dry_run:
            transaction.set_rollback(True)
    return plan


def _imported(tenant_id: UUID, pasted: PastedCrontab, actor: Actor) -> list[Planned]:
    if PurePath(pasted.source).name != pasted.source:
        raise _wrong("source", "invalid_name", "Give a file's name without folders.")
    try:
        zone = find_zone(pasted.timezone).name
    except ValueError as error:
        raise _wrong("timezone", "unknown_timezone", str(error)) from error
    jobs = parse_crontab(pasted.crontab, system=pasted.system, timezone=zone)
    if not jobs:
        message = "There is no schedule in this text; a line of a crontab begins with five fields."
        raise _wrong("crontab", "no_job", message)
    if len(jobs) > MOST_JOBS:
        message = f"There are {len(jobs)} jobs; at most {MOST_JOBS} are imported at once."
        raise _wrong("crontab", "too_many", message)
    source = Source(pasted.source, pasted.url, limits_of(tenant_id))
    try:
        return import_crontab(tenant_id, jobs, source, actor=actor, now=database_now())
    except InvalidInput as error:
        # Every line has the same target: what is wrong is the URL of the call.
        raise _wrong("url", error.errors[0].code, error.errors[0].message) from error


def _wrong(field: str, code: str, message: str) -> InvalidInput:
    return InvalidInput([FieldError(f"#/{field}", code, message)], message)
