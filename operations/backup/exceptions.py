"""Why a backup cannot be restored."""

from __future__ import annotations

from shared.exceptions import PunctualError


class Unfit(PunctualError):
    """A backup cannot be restored here."""

    code = "backup_unfit"
    status = 409


class Damaged(Unfit):
    """The file is no backup, is cut off, or some byte of it has changed."""

    code = "backup_damaged"


class WrongPassphrase(PunctualError):
    """The passphrase does not open this backup, or the beginning of the file was changed."""

    code = "wrong_passphrase"
    status = 409
