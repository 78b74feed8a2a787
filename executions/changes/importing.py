"""Import the jobs of a crontab as paused tasks; a second import makes no task twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from pathlib import PurePath
from uuid import UUID

from django.db import transaction

from events import audit
from executions.changes import bulk_pause
from shared.actor import Actor
from shared.exceptions import InvalidInput, TooLarge
from tasks import transitions
from tasks.creation import create_tasks
from tasks.definition import Definition
from tasks.editing import spec_of
from tasks.importers.crontab import (
    Entry,
    Refused,
    definition_body,
    identities,
    import_labels,
)
from tasks.limits import Limits
from tasks.models import Task
from tasks.revisions import read_definitions
from tasks.transitions import Pause
from tasks.validation.bodies import parse_create
from tenants.models import Tenant

#: Instants that a plan shows of each task.
SHOWN_FIRES = 3
_BY_LINE = "import_line"


class Action(StrEnum):
    """The action of an import for one line."""

    NEW = "new"
    UNCHANGED = "unchanged"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Source:
    """The file of a crontab, the URL that its tasks call, and the limits for them."""

    path: str
    url: str
    limits: Limits

    @property
    def name(self) -> str:
        """Return the file's name, by which a later import finds its tasks."""
        return PurePath(self.path).name


@dataclass(frozen=True, slots=True)
class Planned:
    """One line of a plan; a refused one has a reason and no task."""

    line: int
    text: str
    action: Action
    task: Task | None = None
    schedule_text: str = ""
    fires: tuple[datetime, ...] = ()
    reason: str = ""
    notes: tuple[str, ...] = ()


@transaction.atomic
def import_crontab(
    tenant_id: UUID,
    jobs: Sequence[Entry | Refused],
    source: Source,
    *,
    actor: Actor,
    now: datetime,
) -> list[Planned]:
    """Make a paused task for every job that has none yet; return the action for each line.

    Tasks are never visible unpaused. Raise InvalidInput for a wrong target, which all lines share;
    the plan refuses a job that is wrong by itself. Raise QuotaExceeded, importing nothing, where
    the tenant's quotas do not allow all.
    """
    # One import of a tenant at a time: two would each miss the other's tasks.
    Tenant.objects.select_for_update(no_key=True).get(pk=tenant_id)
    entries = [job for job in jobs if isinstance(job, Entry)]
    keys = dict(zip((e.line for e in entries), identities(entries, source.name), strict=True))
    known = _known(tenant_id, source.name)
    plan: dict[int, Planned] = {}
    new: list[tuple[Entry, Definition]] = []
    for job in jobs:
        if isinstance(job, Refused):
            plan[job.line] = Planned(job.line, job.text, Action.REFUSED, reason=job.reason)
            continue
        try:
            definition = _definition(job, source, keys[job.line], now)
        except (InvalidInput, TooLarge) as error:
            plan[job.line] = _refused(job, error)
            continue
        found = known.get(keys[job.line])
        if found is not None:
            plan[job.line] = _unchanged(job, *found, definition, now)
        else:
            new.append((job, definition))
    for job, task in _created(tenant_id, new, source, actor, now):
        plan[job.line] = _new(job, task, now)
    return [plan[job.line] for job in jobs]


def _created(
    tenant_id: UUID,
    new: Sequence[tuple[Entry, Definition]],
    source: Source,
    actor: Actor,
    now: datetime,
) -> list[tuple[Entry, Task]]:
    """Create paused tasks; all are written, stopped and put on record together."""
    if not new:
        return []
    definitions = [definition for _, definition in new]
    tasks = create_tasks(tenant_id, definitions, actor=actor, now=now)
    made = [(job, task) for (job, _), task in zip(new, tasks, strict=True)]
    bulk_pause.stop([task.id for task in tasks], now)
    changes: list[audit.Change] = []
    for job, task in made:
        terms = Pause(note=f"imported from {source.name}, line {job.line}"[:1000])
        changes += transitions.pause([task.id], terms, now)
        transitions.show_paused(task, terms, now)
    audit.record_many(tenant_id, actor, changes)
    return made


def _known(tenant_id: UUID, source: str) -> dict[str, tuple[Task, Definition]]:
    labels = import_labels(source)
    found = Task.objects.for_tenant(tenant_id).with_labels()
    tasks = list(found.filter(labels__contains=labels))
    definitions = read_definitions(tasks)
    return {task.labels.get(_BY_LINE, ""): (task, definitions[task.id]) for task in tasks}


def _definition(job: Entry, source: Source, identity: str, now: datetime) -> Definition:
    body = definition_body(job, url=source.url, path=source.path, identity=identity)
    return parse_create(body, now=now, limits=source.limits)


def _new(job: Entry, task: Task, now: datetime) -> Planned:
    schedule, fires = _preview(task, now)
    return Planned(job.line, job.text, Action.NEW, task, schedule, fires, notes=job.notes)


def _unchanged(
    job: Entry, task: Task, present: Definition, wanted: Definition, now: datetime
) -> Planned:
    differs = list(_differences(present, wanted))
    notes = ("its task stays as it is, but differs in " + ", ".join(differs),) if differs else ()
    schedule, fires = _preview(task, now)
    return Planned(job.line, job.text, Action.UNCHANGED, task, schedule, fires, notes=notes)


def _differences(present: Definition, wanted: Definition) -> Iterator[str]:
    if present.target["kind"] != wanted.target["kind"]:
        yield f"target ({present.target['kind']})"
    elif present.target["url"] != wanted.target["url"]:
        yield f"URL ({present.target['url']})"
    for key in ("cron_expression", "timezone", "jitter_seconds"):
        if present.schedule.get(key) != wanted.schedule.get(key):
            yield f"{key} ({present.schedule.get(key)})"


def _refused(job: Entry, error: InvalidInput | TooLarge) -> Planned:
    errors = error.errors if isinstance(error, InvalidInput) else []
    if any(item.pointer.startswith("#/target") for item in errors):
        # Every line has the same target: the call is wrong, not the line.
        raise error
    reason = " ".join(item.message for item in errors) or error.message
    return Planned(job.line, job.text, Action.REFUSED, reason=reason)


def _preview(task: Task, now: datetime) -> tuple[str, tuple[datetime, ...]]:
    spec = spec_of(task)
    return spec.text, tuple(found.at for found in islice(spec.walk(now), SHOWN_FIRES))
