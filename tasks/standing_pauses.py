"""Standing pauses: which tasks one covers, and which open one holds a task.

Code that creates, edits and resumes tasks calls this. One filter of tasks defines what a pause
covers, so that a pause that begins and a task that is new agree on it. Callers hold :func:`share`
until they commit; a caller that begins a pause holds :func:`own`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from uuid import UUID

from django.db.models import Q

from shared.exceptions import FieldError, InvalidInput
from shared.hosts import HostError
from shared.sql import rows
from tasks.choices import SUSPENSION, PauseScope
from tasks.definition import plain_pool, pools_called
from tasks.destination_names import destination_name, read_host_and_port
from tasks.field_reader import text_problem
from tasks.limits import LABEL_KEY_LENGTH, LABEL_VALUE_LENGTH
from tasks.models import Pause, Task
from tasks.querysets import TaskQuerySet
from tenants.suspension import require_active

_LONGEST = {
    PauseScope.LABEL: LABEL_KEY_LENGTH + 1 + LABEL_VALUE_LENGTH,
    PauseScope.POOL: 63,
    PauseScope.DESTINATION: 260,
}
_SAID: Mapping[str, str] = {
    PauseScope.LABEL: "the label {}",
    PauseScope.POOL: "the pool {}",
    PauseScope.DESTINATION: "the destination {}",
    PauseScope.TENANT: "the whole tenant",
    SUSPENSION: "the suspended tenant",
}


def share(tenant_id: UUID) -> None:
    """Keep pauses of the tenant from beginning until this transaction ends.

    Take it before any row, as a caller that begins a pause does. Others that share do not wait.
    """
    rows(*sharing(tenant_id))


def share_active(tenant_id: UUID) -> None:
    """Share the tenant's pauses, as :func:`share`; raise TenantSuspended for a suspended tenant.

    Every door that makes work, or lets it start, calls this. A suspension that begins in this
    moment waits for the transaction and finds its work, or the door finds the suspension.
    """
    share(tenant_id)
    require_active(tenant_id)


def sharing(tenant_id: UUID) -> tuple[str, dict[str, UUID]]:
    """Return the statement of :func:`share`, for a caller that sends another one with it."""
    return "standing/share_pauses", {"tenant": tenant_id}


def sharing_from_now(tenant_id: UUID) -> tuple[str, dict[str, UUID]]:
    """Return the statement that does the same, and returns the database's time once it has."""
    return "standing/share_pauses_from_now", {"tenant": tenant_id}


def own(tenant_id: UUID) -> None:
    """Keep tasks of the tenant from being made, edited or resumed until this transaction ends."""
    rows("standing/own_pauses", {"tenant": tenant_id})


def covered(tasks: TaskQuerySet, scope: str, value: str) -> TaskQuerySet:
    """Return the tasks that a pause of this scope and value covers, of those given.

    A destination without a port is the host on every port; with a port it is that port alone,
    where 80 and 443 are one. A pool is the one of that name, whether our own workers run it or
    pull workers lease from it.
    """
    if scope == PauseScope.LABEL:
        return tasks.labelled(value)
    if scope == PauseScope.POOL:
        return tasks.filter(pool__in=pools_called(value))
    if scope == PauseScope.DESTINATION:
        return _calling(tasks, value)
    return tasks


def covers_place(scope: str, value: str, pool: str, destination: str) -> bool:
    """Return whether a pause keeps work from a pool, or from a destination ('' for none).

    A pause of a label, which is about tasks, covers no place.
    """
    if scope == PauseScope.POOL:
        return pool in pools_called(value)
    if scope != PauseScope.DESTINATION:
        return scope in (PauseScope.TENANT, SUSPENSION)
    try:
        host, port = read_host_and_port(value)
    except HostError:
        return destination == value
    name = destination_name(host, port)
    anywhere = port is None and destination.startswith(f"{name}:")
    return destination == name or anywhere


def _calling(tasks: TaskQuerySet, value: str) -> TaskQuerySet:
    try:
        host, port = read_host_and_port(value)
    except HostError:
        # A pause from an older version may have such a value.
        return tasks.filter(destination=value)
    name = destination_name(host, port)
    if port is not None:
        return tasks.filter(destination=name)
    return tasks.filter(Q(destination=name) | Q(destination__startswith=f"{name}:"))


def holders(tenant_id: UUID, task_ids: Collection[UUID]) -> dict[UUID, Pause]:
    """Return, of the tenant's tasks given, those that an open pause covers, with the oldest."""
    found: dict[UUID, Pause] = {}
    for pause in Pause.objects.for_tenant(tenant_id).open().order_by("created_at", "id"):
        left = [task_id for task_id in task_ids if task_id not in found]
        if not left:
            break
        # Tasks of the caller's own transaction are seen, too.
        among = Task.objects.filter(tenant_id=tenant_id, pk__in=left)
        ids = covered(among, pause.scope, pause.value).values_list("id", flat=True)
        found |= dict.fromkeys(ids, pause)
    return found


def holder_of(task: Task) -> Pause | None:
    """Return the open pause that holds a task: its current one, else the oldest."""
    return current_holder(task) or holders(task.tenant_id, [task.id]).get(task.id)


def current_holder(task: Task) -> Pause | None:
    """Return the pause that the task is under, while it is open and covers the task."""
    if task.pause_id is None:
        return None
    pause = Pause.objects.open().filter(pk=task.pause_id).first()
    if pause is None:
        return None
    among = Task.objects.filter(pk=task.id)
    return pause if covered(among, pause.scope, pause.value).exists() else None


def current_holders(tasks: Collection[Task]) -> dict[UUID, Pause]:
    """Return the tasks given that have a :func:`current_holder`, with that pause."""
    under: dict[UUID, list[UUID]] = {}
    for task in tasks:
        if task.pause_id is not None:
            under.setdefault(task.pause_id, []).append(task.id)
    found: dict[UUID, Pause] = {}
    for pause in Pause.objects.open().filter(pk__in=under) if under else ():
        among = Task.objects.filter(pk__in=under[pause.id])
        ids = covered(among, pause.scope, pause.value).values_list("id", flat=True)
        found |= dict.fromkeys(ids, pause)
    return found


def describe(scope: str, value: str) -> str:
    """Return what a pause covers in words: ``the label team:billing``."""
    return _SAID[scope].format(value)


def read_value(scope: str, value: str) -> str:
    """Return the value of a scope as it is compared; raise InvalidInput at ``#/value``."""
    if scope == PauseScope.TENANT:
        if value:
            _refuse("not_used", "A pause of the whole tenant has no value.")
        return ""
    if not value:
        _refuse("required", f"Say which {scope}.")
    problem = text_problem(value, longest=_LONGEST[PauseScope(scope)])
    if problem:
        _refuse(*problem)
    if scope == PauseScope.DESTINATION:
        return _read_destination(value)
    return plain_pool(value) if scope == PauseScope.POOL else value


def _read_destination(value: str) -> str:
    """Return the value as it is stored; a given port stays, since it selects that port alone."""
    try:
        host, port = read_host_and_port(value)
    except HostError as error:
        example = "Give the host, or host:port, as in the URL: api.example.com."
        raise InvalidInput(
            [FieldError("#/value", "invalid", f"{error.message} {example}")]
        ) from error
    name = destination_name(host, None)
    return name if port is None else f"{name}:{port}"


def _refuse(code: str, message: str) -> None:
    raise InvalidInput([FieldError("#/value", code, message)])
