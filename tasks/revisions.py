"""Revisions: how a definition is stored and read back.

The part that must not be readable at rest (payload or its reference, URL, headers, authentication,
arguments) is sealed; the rest is plain JSON, so that the loop's statements can read timeouts and
limits. See :mod:`tasks.sealed_targets`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, Max, QuerySet

from shared.data_keys import seals_targets
from shared.encryption import CannotBeOpened, DecryptionFailed, open_json, seal_json
from shared.exceptions import NotFound
from shared.sealing_contexts import revision_context
from tasks import quotas, sealed_targets
from tasks.choices import WORKFLOW
from tasks.definition import Definition, from_stored, parts_of
from tasks.models import Task, TaskRevision
from tasks.named_secrets import uses
from tasks.step_definitions import step_definitions
from tasks.versions import FIRST_OF_STEPS, FIRST_REDIRECTED

#: In the plain part of a redirected version: the bulk job whose executions run under it.
REPLAY = "replay"


def write_revision(task: Task, definition: Definition, changed_by: str) -> TaskRevision:
    """Store the definition as the task's current version."""
    plain, sealed = stored_parts(task, definition)
    uses.note(task.tenant_id, [(task, definition)], anew=True)
    write_steps([(task, definition)], changed_by)
    made = TaskRevision(
        task=task, version=task.version, definition=plain, sealed=sealed, changed_by=changed_by
    )
    _store([made])
    return made


def write_revisions(revised: Sequence[tuple[Task, Definition]], changed_by: str) -> None:
    """Store each definition as its task's current version, in one statement."""
    made = []
    for task, definition in revised:
        plain, sealed = stored_parts(task, definition)
        made.append(
            TaskRevision(
                task=task,
                version=task.version,
                definition=plain,
                sealed=sealed,
                changed_by=changed_by,
            )
        )
    if revised:
        uses.note(revised[0][0].tenant_id, revised, anew=True)
    _store(made)
    write_steps(revised, changed_by)


def write_steps(revised: Iterable[tuple[Task, Definition]], changed_by: str) -> None:
    """Store what the steps of workflows call, as versions beside those of their tasks.

    The stages read them as they read the version of any execution.
    """
    _store(_steps_of(revised, changed_by))


def require_room(revised: Sequence[tuple[Task, Definition]]) -> None:
    """Raise QuotaExceeded where the next versions of a tenant's tasks are too large to be stored.

    For callers that take released work back before they write: a voided token stays void.
    """
    if revised and quotas.counts_stored(tenant_id := revised[0][0].tenant_id):
        parts = [stored_parts(task, definition)[1] for task, definition in revised]
        steps = [made.sealed for made in _steps_of(revised, "")]
        quotas.require_room(tenant_id, payload_bytes=sum(map(len, parts + steps)))


def _steps_of(revised: Iterable[tuple[Task, Definition]], changed_by: str) -> list[TaskRevision]:
    made = []
    for task, definition in revised:
        if definition.target["kind"] != WORKFLOW:
            continue
        for version, step in step_definitions(task.version, definition):
            plain, secret = _split(step, task.tenant_id)
            made.append(
                TaskRevision(
                    task=task,
                    version=version,
                    definition=plain,
                    sealed=seal_json(secret, revision_context(task.tenant_id, task.id, version)),
                    changed_by=changed_by,
                )
            )
    return made


def _store(made: list[TaskRevision]) -> None:
    """Insert versions of tasks of one tenant; raise QuotaExceeded where they are too large."""
    if made:
        size = sum(len(one.sealed) for one in made)
        quotas.reserve(made[0].task.tenant_id, payload_bytes=size)
        TaskRevision.objects.bulk_create(made)


def write_redirected(
    task: Task, definition: Definition, job_id: UUID, changed_by: str
) -> TaskRevision:
    """Store a definition for the executions of a replay, beside the versions of a locked task."""
    beside = _redirected(task)
    last = beside.aggregate(last=Max("version"))["last"]
    version = FIRST_REDIRECTED if last is None else last + 1
    plain, secret = _split(definition, task.tenant_id)
    made = TaskRevision(
        task=task,
        version=version,
        definition={**plain, REPLAY: str(job_id)},
        sealed=seal_json(secret, revision_context(task.tenant_id, task.id, version)),
        changed_by=changed_by,
    )
    _store([made])
    return made


def find_redirected(task: Task, job_id: UUID) -> TaskRevision | None:
    """Return the version that a replay has made of the task, if it has."""
    return _redirected(task).filter(**{f"definition__{REPLAY}": str(job_id)}).first()


def own_revisions(task: Task) -> QuerySet[TaskRevision]:
    """Return the versions that the task has had, without those of replays and of steps."""
    return task.revisions.filter(version__lt=FIRST_REDIRECTED)


def _redirected(task: Task) -> QuerySet[TaskRevision]:
    return task.revisions.filter(version__gte=FIRST_REDIRECTED, version__lt=FIRST_OF_STEPS)


def stored_parts(task: Task, definition: Definition) -> tuple[dict[str, Any], bytes]:
    """Return how the definition is stored as the task's current version: plain part and sealed.

    The plain part shares with the definition; callers must not change it.
    """
    plain, secret = _split(definition, task.tenant_id)
    return plain, seal_json(secret, revision_context(task.tenant_id, task.id, task.version))


def read_definition(task: Task, version: int | None = None) -> Definition:
    """Return the task's definition, of an older version if asked; raise NotFound for others.

    Raise CannotBeOpened where no key opens it.
    """
    definition, is_whole = read_readable_version(task, version or task.version)
    if not is_whole:
        raise CannotBeOpened
    return definition


def read_definitions(tasks: Iterable[Task]) -> dict[UUID, Definition]:
    """Return the current definition of each task, in one query."""
    return {revision.task_id: definition_of(revision) for revision in _current(tasks)}


def input_schema_of(task: Task) -> dict[str, Any] | None:
    """Return the schema of the inputs of a workflow's runs; None without one. Opens nothing."""
    current = TaskRevision.objects.filter(task_id=task.id, version=task.version)
    found: dict[str, Any] | None
    found = current.values_list("definition__target__input_schema", flat=True).first()
    return found


class Readable(NamedTuple):
    """The readable part of a definition; when it is not whole, payload and secrets are missing."""

    definition: Definition
    is_whole: bool


def read_readable(tasks: Iterable[Task]) -> dict[UUID, Readable]:
    """Return the readable part of each task's current definition, in one query; never raises.

    For lists of tasks: a task whose sealed part no key opens must not hide the others.
    """
    return {revision.task_id: readable_version(revision) for revision in _current(tasks)}


def read_readable_version(task: Task, version: int) -> Readable:
    """Return the readable part of a version of the task; raise NotFound where it has none."""
    return readable_version(_version(task, version))


def open_payload(task_id: UUID, version: int) -> Any:
    """Return the payload of a version."""
    one = TaskRevision.objects.filter(task_id=task_id, version=version)
    found = one.values_list("sealed", "task__tenant_id").first()
    if found is None:
        raise NotFound("There is no such version.")
    context = revision_context(found[1], task_id, version)
    return open_json(bytes(found[0]), context)["payload"]


def _split(definition: Definition, tenant_id: UUID) -> tuple[dict[str, Any], dict[str, Any]]:
    plain = parts_of(definition)
    target, secret = sealed_targets.split(plain["target"], whole=seals_targets(tenant_id))
    # A reference may be a signed URL, so it is sealed. It is stored as the payload, which all code
    # that delivers, leases, shows or retries an execution opens.
    del plain["payload"]
    secret["payload"] = definition.sent
    if (reference := plain.pop("payload_ref")) is not None:
        secret["payload_ref"] = reference
    if plain["owner"] is None:
        del plain["owner"]
    if not plain["redact"]:
        del plain["redact"]
    if not plain["budget"]:
        del plain["budget"]
    if plain["concurrency"] is None:
        del plain["concurrency"]
    if plain["targets"] is None:
        del plain["targets"]
    return {**plain, "target": target}, secret


def definition_of(revision: TaskRevision) -> Definition:
    """Return the definition that a revision holds; raise DecryptionFailed where no key opens it."""
    context = revision_context(revision.task.tenant_id, revision.task_id, revision.version)
    return _joined(revision, open_json(bytes(revision.sealed), context))


def _version(task: Task, version: int) -> TaskRevision:
    found = task.revisions.filter(version=version).first()
    if found is None:
        raise NotFound("There is no such version.")
    return found


def _current(tasks: Iterable[Task]) -> Iterable[TaskRevision]:
    by_id = {task.id: task for task in tasks}
    found = TaskRevision.objects.filter(task_id__in=list(by_id), version=F("task__version"))
    for revision in found:
        # Its tenant opens it, and is known here without another query.
        revision.task = by_id[revision.task_id]
    return found


def readable_version(revision: TaskRevision) -> Readable:
    """Return the definition that a revision holds, as far as it can be shown."""
    try:
        return Readable(definition_of(revision), is_whole=True)
    except DecryptionFailed:
        return Readable(_joined(revision, {"payload": None}), is_whole=False)


def _joined(revision: TaskRevision, secret: Mapping[str, Any]) -> Definition:
    reference = secret.get("payload_ref")
    payload = secret["payload"] if reference is None else None
    found = from_stored({**revision.definition, "payload": payload, "payload_ref": reference})
    # Nothing else refers to what was just opened, and copying a thousand steps takes long.
    return replace(found, target=sealed_targets.joined(found.target, secret))
