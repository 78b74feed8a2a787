"""The passphrase of a backup: from the environment or a terminal, never from the command line.

Every user of the machine can see arguments, and shells keep them.
"""

from __future__ import annotations

import getpass
import sys

from operations.backup.sealing import SHORTEST_PASSPHRASE
from shared import env
from shared.commands import WRONG_USE, Error

VARIABLE = "BACKUP_PASSPHRASE"


def for_backup() -> str:
    """Return a new passphrase, asked for twice on a terminal; refuse a short one."""
    words = _given("Passphrase for this backup: ")
    if len(words) < SHORTEST_PASSPHRASE:
        message = f"The passphrase needs at least {SHORTEST_PASSPHRASE} characters."
        raise Error(message, returncode=WRONG_USE)
    if not env.text(VARIABLE) and getpass.getpass("The same again: ") != words:
        raise Error("The two passphrases differ.", returncode=WRONG_USE)
    return words


def for_restore() -> str:
    """Return the passphrase of an existing backup."""
    return _given("Passphrase of this backup: ")


def _given(prompt: str) -> str:
    found = env.text(VARIABLE)
    if found:
        return found
    if not sys.stdin.isatty():
        message = f"Set {VARIABLE} (or {VARIABLE}_FILE) where there is no terminal."
        raise Error(message, returncode=WRONG_USE)
    return getpass.getpass(prompt)
