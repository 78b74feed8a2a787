"""Named secrets as API and commands show them: everything but the value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shared.instants import format_instant
from tasks.models import NamedSecret
from tasks.named_secrets.uses import User


def present_secret(
    secret: NamedSecret, count: int, users: Sequence[User] | None = None
) -> dict[str, Any]:
    """Return a secret with the number of tasks that use it, and where asked for some of them."""
    shown: dict[str, Any] = {
        "id": str(secret.id),
        "name": secret.name,
        "hosts": secret.hosts,
        "commands": secret.commands,
        "version": secret.version,
        "tasks": count,
        "changed_by": secret.changed_by,
        "created_at": format_instant(secret.created_at),
        "written_at": format_instant(secret.written_at),
    }
    if users is not None:
        shown["used_by"] = [
            {"id": str(one.id), "name": one.name, "kind": "workflow" if one.is_workflow else "task"}
            for one in users
        ]
    return shown
