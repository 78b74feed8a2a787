"""Take the content out of a deleted task: name, labels, owner, notes, and every version.

A version keeps its number and its time. In the place of its definition stands one that calls a host
that cannot exist, so that pages about its executions can still be shown.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import orjson

from shared.encryption import seal_json
from shared.sealing_contexts import revision_context
from shared.sql import json_value, rows, run
from tasks.budgets import keeping

#: Versions that one statement reads; each has a mebibyte at most.
_AT_ONCE = 100
#: What every erased definition calls: a host of the domain that is reserved to be invalid.
_URL = "https://erased.invalid/"


def blank(tenant_id: UUID, task_id: UUID) -> int:
    """Erase a locked, deleted task and its versions; return how many versions.

    Runs in the caller's transaction.
    """
    run("erasing/blank_task", {"task": task_id})
    # Their units are words of users.
    keeping.forget(task_id)
    count = 0
    wanted = {"task": task_id, "limit": _AT_ONCE}
    while found := rows("erasing/versions_with_content", wanted):
        for version, definition in found:
            _blank_version(tenant_id, task_id, version, json_value(definition))
        count += len(found)
    return count


def _blank_version(tenant_id: UUID, task_id: UUID, version: int, stored: dict[str, Any]) -> None:
    plain = {
        "name": "erased",
        "type": stored["type"],
        "schedule": {},
        "target": {"kind": "webhook", "url": _URL},
        "erased": True,
    }
    sealed = seal_json({"payload": None}, revision_context(tenant_id, task_id, version))
    text = orjson.dumps(plain).decode()
    parameters = {"task": task_id, "version": version, "plain": text, "sealed": sealed}
    run("erasing/blank_version", parameters)
