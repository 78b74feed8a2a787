"""Which tasks use a named secret: those whose current version names it.

A use is written in the transaction that writes the version, under a lock that a removal of the
secret waits for: a task never names a secret that is gone. Versions before the current one count
for nothing: going back to one asks for its secrets again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple
from uuid import UUID

from shared.exceptions import FieldError, InvalidInput
from shared.named_secrets.references import names_of
from shared.sql import rows, run
from shared.sql_arrays import of_texts, of_uuids
from tasks.choices import WORKFLOW
from tasks.definition import Definition
from tasks.models import SecretUse, Task

#: Tasks of a secret that are shown.
SHOWN = 100
_AT_ONCE = 5_000


class User(NamedTuple):
    """A task that uses a secret."""

    id: UUID
    name: str
    is_workflow: bool


def names_used(definition: Definition) -> list[str]:
    """Return the names of the secrets that a definition uses, also in steps, each once."""
    target = definition.target
    if target["kind"] != WORKFLOW:
        return names_of(target)
    found: set[str] = set()
    for step in target["steps"]:
        undo = step.get("compensate")
        for call in (step, undo) if undo else (step,):
            if call.get("target"):
                found.update(names_of(call["target"]))
    return sorted(found)


def note(
    tenant_id: UUID, written: Iterable[tuple[Task, Definition]], *, anew: bool = False
) -> None:
    """Keep what the current versions of a tenant's tasks use, in the caller's transaction.

    ``anew`` forgets what the versions before used. Raise InvalidInput ``secret_unknown`` for a
    secret that has been removed since it was looked up.
    """
    pairs = list(written)
    if anew:
        SecretUse.objects.filter(task_id__in=[task.id for task, _ in pairs]).delete()
    used = [(task.id, name) for task, definition in pairs for name in names_used(definition)]
    if not used:
        return
    parameters = {
        "tenant": tenant_id,
        "tasks": of_uuids([task for task, _ in used]),
        "names": of_texts([name for _, name in used]),
    }
    missing = [row[0] for row in rows("named_secrets/use", parameters)]
    if missing:
        raise InvalidInput([unknown("#/target", name) for name in missing])


def unknown(pointer: str, name: str) -> FieldError:
    """Return the error of a name that no secret has."""
    message = f"There is no secret {name[:100]!r}. An admin of the tenant writes it on Secrets."
    return FieldError(pointer, "secret_unknown", message)


def users_of(secret_ids: Collection[UUID]) -> dict[UUID, list[User]]:
    """Return the tasks that use each secret, the newest SHOWN of them.

    A task that is deleted, or that has ended, uses none.
    """
    found: dict[UUID, list[User]] = {}
    wanted = {"secrets": list(secret_ids), "limit": SHOWN}
    for secret, task, name, workflow in rows("named_secrets/users", wanted):
        found.setdefault(secret, []).append(User(task, name, workflow))
    return found


def counts_of(secret_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return how many tasks use each secret; one that none uses is left out."""
    found: list[Any] = rows("named_secrets/count_users", {"secrets": list(secret_ids)})
    return dict(found)


def forget_ended() -> int:
    """Forget what one-time tasks used that have ended, a few thousand at a time; return how many.

    They count for nothing, and an edit that brings one back writes its uses anew.
    """
    forgotten = 0
    while count := run("named_secrets/forget_ended", {"limit": _AT_ONCE}):
        forgotten += count
    return forgotten
