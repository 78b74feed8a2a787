"""Revisions: how a definition is stored and read back.

The part that must not be readable at rest (payload or its reference, headers, authentication) is
sealed; the rest is plain JSON, so that the loop's statements can read timeouts and limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, Max, QuerySet

from shared.encryption import CannotBeOpened, DecryptionFailed, open_json, seal_json
from shared.exceptions import NotFound
from shared.sealing_contexts import revision_context
from tasks.choices import WORKFLOW
from tasks.definition import Definition, from_stored, parts_of
from tasks.models import Task, TaskRevision
from tasks.step_definitions import step_definitions
from tasks.versions import FIRST_OF_STEPS, FIRST_REDIRECTED

#: In the plain part of a redirected version: the bulk job whose executions run under it.
REPLAY = "replay"
_SECRET_TARGET_KEYS = ("headers", "auth", "tls", "proxy", "environment", "steps")


def write_revision(task: Task, definition: Definition, changed_by: str) -> TaskRevision:
    """Store the definition as the task's current version."""
    plain, sealed = stored_parts(task, definition)
    write_steps([(task, definition)], changed_by)
    return TaskRevision.objects.create(
        task=task, version=task.version, definition=plain, sealed=sealed, changed_by=changed_by
    )


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
    TaskRevision.objects.bulk_create(made)
    write_steps(revised, changed_by)


def write_steps(revised: Iterable[tuple[Task, Definition]], changed_by: str) -> None:
    """Store what the steps of workflows call, as versions beside those of their tasks.

    The stages read them as they read the version of any execution.
    """
    made = []
    for task, definition in revised:
        if definition.target["kind"] != WORKFLOW:
            continue
        for version, step in step_definitions(task.version, definition):
            plain, secret = _split(step)
            made.append(
                TaskRevision(
                    task=task,
                    version=version,
                    definition=plain,
                    sealed=seal_json(secret, revision_context(task.id, version)),
                    changed_by=changed_by,
                )
            )
    TaskRevision.objects.bulk_create(made)


def write_redirected(
    task: Task, definition: Definition, job_id: UUID, changed_by: str
) -> TaskRevision:
    """Store a definition for the executions of a replay, beside the versions of a locked task."""
    beside = _redirected(task)
    last = beside.aggregate(last=Max("version"))["last"]
    version = FIRST_REDIRECTED if last is None else last + 1
    plain, secret = _split(definition)
    return TaskRevision.objects.create(
        task=task,
        version=version,
        definition={**plain, REPLAY: str(job_id)},
        sealed=seal_json(secret, revision_context(task.id, version)),
        changed_by=changed_by,
    )


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
    plain, secret = _split(definition)
    return plain, seal_json(secret, revision_context(task.id, task.version))


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
    return {revision.task_id: _readable(revision) for revision in _current(tasks)}


def read_readable_version(task: Task, version: int) -> Readable:
    """Return the readable part of a version of the task; raise NotFound where it has none."""
    return _readable(_version(task, version))


def open_payload(task_id: UUID, version: int) -> Any:
    """Return the payload of a version."""
    found = TaskRevision.objects.filter(task_id=task_id, version=version).first()
    if found is None:
        raise NotFound("There is no such version.")
    return open_json(bytes(found.sealed), revision_context(task_id, version))["payload"]


def _split(definition: Definition) -> tuple[dict[str, Any], dict[str, Any]]:
    plain = parts_of(definition)
    target = dict(plain["target"])
    secret = {key: target.pop(key) for key in _SECRET_TARGET_KEYS if key in target}
    # A reference may be a signed URL, so it is sealed. It is stored as the payload, which all code
    # that delivers, leases, shows or retries an execution opens.
    del plain["payload"]
    secret["payload"] = definition.sent
    if (reference := plain.pop("payload_ref")) is not None:
        secret["payload_ref"] = reference
    if plain["owner"] is None:
        del plain["owner"]
    return {**plain, "target": target}, secret


def definition_of(revision: TaskRevision) -> Definition:
    """Return the definition that a revision holds; raise DecryptionFailed where no key opens it."""
    secret = open_json(bytes(revision.sealed), revision_context(revision.task_id, revision.version))
    return _joined(revision, secret)


def _version(task: Task, version: int) -> TaskRevision:
    found = task.revisions.filter(version=version).first()
    if found is None:
        raise NotFound("There is no such version.")
    return found


def _current(tasks: Iterable[Task]) -> Iterable[TaskRevision]:
    ids = [task.id for task in tasks]
    return TaskRevision.objects.filter(task_id__in=ids, version=F("task__version"))


def _readable(revision: TaskRevision) -> Readable:
    try:
        return Readable(definition_of(revision), is_whole=True)
    except DecryptionFailed:
        return Readable(_joined(revision, {"payload": None}), is_whole=False)


def _joined(revision: TaskRevision, secret: Mapping[str, Any]) -> Definition:
    reference = secret.get("payload_ref")
    payload = secret["payload"] if reference is None else None
    found = from_stored({**revision.definition, "payload": payload, "payload_ref": reference})
    # Nothing else refers to what was just opened, and copying a thousand steps takes long.
    opened = {key: secret[key] for key in _SECRET_TARGET_KEYS if key in secret}
    return replace(found, target={**found.target, **opened})
