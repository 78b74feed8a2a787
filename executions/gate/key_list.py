"""Concurrency keys of a tenant as people see them: who has their places, and how much waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from executions.models import Execution
from shared.sql import rows

#: Waiting executions are counted up to this number.
MOST_WAITING = 100_000
#: Executions with a place that are shown of each key.
MOST_HOLDERS = 20


@dataclass(frozen=True, slots=True)
class Holder:
    """An execution that has a place of a key; ``started_at`` is None before its first start."""

    id: UUID
    task_id: UUID
    #: None where the task has been removed for good.
    task_name: str | None
    status: str
    started_at: datetime | None
    due_at: datetime


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A key with open work; ``holders`` are the first of its ``in_use`` executions."""

    key: str
    in_use: int
    waiting: int
    #: When the first waiting execution was due.
    waiting_since: datetime | None
    holders: Sequence[Holder]


def list_keys(
    tenant_id: UUID, *, q: str | None = None, after: str = "", limit: int
) -> list[ShownKey]:
    """Return the tenant's keys that have open work, by name, behind one.

    ``q`` is a part of the key.
    """
    return _shown(tenant_id, {"only": None, "q": q, "after": after, "limit": limit})


def key_of(tenant_id: UUID, key: str) -> ShownKey:
    """Return one key, also without open work: there is no other trace of a key."""
    return _shown(tenant_id, {"only": [key], "q": None, "after": "", "limit": 0})[0]


def before_in_line(execution: Execution) -> int:
    """Return how many executions of its key go before a waiting one, up to MOST_WAITING."""
    parameters = {
        "tenant": execution.tenant_id,
        "key": execution.concurrency_key,
        "due": execution.due_at,
        "task": execution.task_id,
        "id": execution.pk,
        "most": MOST_WAITING,
    }
    found: int = rows("keys/before_in_line", parameters)[0][0]
    return found


def _shown(tenant_id: UUID, wanted: Mapping[str, Any]) -> list[ShownKey]:
    found = rows("keys/listed", {"tenant": tenant_id, "most": MOST_WAITING, **wanted})
    used = [row[0] for row in found if row[1]]
    holders: dict[str, list[Holder]] = {}
    if used:
        given = {"tenant": tenant_id, "keys": used, "each": MOST_HOLDERS}
        for key, *row in rows("keys/holders", given):
            holders.setdefault(key, []).append(Holder(*row))
    return [
        ShownKey(key, in_use, waiting, since, holders.get(key, []))
        for key, in_use, waiting, since in found
    ]
