"""Which rights of root a process of ours keeps after root has started it, and who gives up which.

``manage.py`` calls this before anything else runs. A process that root did not start keeps the
rights that its operator gave it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from shared import rights
from shared.rights import Right

#: Set in the environment of a process that has left root, and of its children: only there do we
#: take rights away.
MARK = "PUNCTUAL_LEFT_ROOT"
_LOWEST_FREE_PORT = 1024


def keep_only_what_is_needed(command: str) -> None:
    """Give up the rights that this command has no use for, where this installation left root."""
    if MARK not in os.environ:
        return
    rights_of_all = wanted(os.environ)
    if command == "up":
        needed = rights_of_all
    elif command == "run_worker":
        needed = rights_of_all & rights.OTHER_ACCOUNTS
    elif command in ("run_web", "run_receiver"):
        needed = rights_of_all & {Right.NET_BIND_SERVICE}
    else:
        needed = frozenset()
    rights.keep_only(needed & rights.held())


def keep_nothing() -> None:
    """Give up every right that this process still has, where this installation left root."""
    if MARK in os.environ:
        rights.keep_only(())


def wanted(environment: Mapping[str, str]) -> frozenset[Right]:
    """Return the rights that the settings ask for."""
    found: set[Right] = set()
    if environment.get("ALLOWED_COMMANDS", "").strip():
        found |= rights.OTHER_ACCOUNTS
    ports = (environment.get(name, "") for name in ("PORT", "RECEIVER_PORT"))
    if any(port.isdecimal() and int(port) < _LOWEST_FREE_PORT for port in ports):
        found.add(Right.NET_BIND_SERVICE)
    return frozenset(found)
