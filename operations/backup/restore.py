"""Restoring a backup: verified before anything is touched, fenced before anything can run.

The checks come first (passphrase, file, version, keys, target, processes), then the data, then
the fence, then the place of the former data. An interrupted restore of the embedded database
leaves the former one. On a given server it leaves a part of the data: start no process on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import psycopg
from django.conf import settings

from executions.ownership import fence
from launcher import local_state
from launcher.run_lock import AlreadyHeld, RunLock
from operations.backup import archive, erased_tenants, keys, programs
from operations.backup.archive import Backup
from operations.backup.make import count_rows
from operations.backup.manifest import Manifest, known_migrations, refuse_newer
from operations.backup.place import Place
from shared.exceptions import Conflict, PunctualError
from shared.sql import statement
from wire import start_guard


class Incomplete(PunctualError):
    """The restored rows are not those of the backup."""

    code = "restore_incomplete"
    status = 500


@dataclass(frozen=True, slots=True)
class Checked:
    """A backup whose file is whole and open, and which fits this version."""

    backup: Backup

    @property
    def manifest(self) -> Manifest:
        return self.backup.manifest


def check(path: Path, passphrase: str) -> Checked:
    """Verify a backup without touching anything; raise Damaged, Unfit or WrongPassphrase."""
    backup = archive.read(path, passphrase)
    refuse_newer(backup.manifest, known_migrations())
    keys.refuse_missing(backup.secrets)
    return Checked(backup)


def restore(checked: Checked, place: Place, *, overwrite: bool, erased: Sequence[UUID] = ()) -> int:
    """Fill the place with the backup's data and set the fence.

    The data keys of tenants that were erased are destroyed: of ``erased``, and of the list in the
    data directory, which has those of ``erased``, too, from then on. Return how many of these
    tenants the backup had keys of.

    Raise Conflict while processes run there, or if it is not empty and ``overwrite`` is false.
    """
    try:
        with RunLock(place.data_dir):
            place.refuse_running()
            if not (overwrite or place.is_empty()):
                raise Conflict(
                    "The target is not empty. Use --overwrite --yes to replace it.",
                    code="not_empty",
                )
            return _fill(checked, place, erased)
    except AlreadyHeld as held:
        raise Conflict(
            f"Punctual runs here (pid {held.pid}). Stop it: manage.py down.", code="running"
        ) from held


def _fill(checked: Checked, place: Place, erased: Sequence[UUID]) -> int:
    # Kept: a second restore on this machine, without the copy, must not bring them back.
    erased_tenants.note(place.data_dir, *erased)
    listed = erased_tenants.read(place.data_dir / erased_tenants.FILE)
    former = local_state.load_secrets(place.data_dir)
    with place.emptied() as url:
        programs.restore(url, checked.backup.pour)
        _verify(url, checked.manifest)
        with psycopg.connect(url) as session, session.cursor() as cursor:
            fence.hold(cursor)
            # A backup of the first format contains sessions.
            cursor.execute(statement("backup/forget_sessions"))
            cursor.execute(statement("backup/void_login_links"))
            closed = erased_tenants.destroy_keys(cursor, listed)
        place.put_secrets(checked.backup.secrets, former)
    if settings.REDIS_URL:
        # This server has kept running: void everything that was sent through it.
        start_guard.renew_incarnation()
    return closed


def _verify(url: str, manifest: Manifest) -> None:
    with psycopg.connect(url) as session:
        found = count_rows(session)
    wrong = sorted(name for name, count in manifest.row_counts.items() if found.get(name) != count)
    if wrong:
        raise Incomplete(f"Restored, but not all rows are there: {', '.join(wrong[:5])}.")
