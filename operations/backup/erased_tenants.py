"""The list of erased tenants, which is kept outside of the database and of backups.

A backup has the data keys of its time, wrapped, and the key that unwraps them. So a backup from
before an erasure could be read. A restore destroys the data keys of every tenant in this list
before anything can run: what the backup has of them never opens again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from launcher import local_state
from operations.backup.exceptions import Unfit
from shared.sql import statement

FILE = "erased-tenants.json"


def note(data_dir: Path, *tenants: UUID) -> None:
    """Add tenants to the list; raise OSError where it cannot be written."""
    if not tenants:
        return
    with _alone_in(data_dir):
        found = {str(one) for one in (*read(data_dir / FILE), *tenants)}
        local_state.write_private(data_dir / FILE, {"schema": 1, "tenants": sorted(found)})


@contextmanager
def _alone_in(data_dir: Path) -> Iterator[None]:
    """Hold a lock on the directory: another erasure's tenant must not be lost from the list."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read(path: Path) -> list[UUID]:
    """Return the tenants in a list, none where there is no file; raise Unfit for another file."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return [UUID(one) for one in stored["tenants"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unfit(f"{path} is no list of erased tenants.") from error


def destroy_keys(cursor: Any, tenants: Iterable[UUID]) -> int:
    """Destroy the data keys of these tenants in a restored database.

    Return how many of the tenants had some.
    """
    wanted = list(tenants)
    if not wanted:
        return 0
    cursor.execute(statement("backup/has_data_keys"))
    if not cursor.fetchone()[0]:
        return 0
    cursor.execute(statement("backup/destroy_data_keys"), {"tenants": wanted})
    return len({row[0] for row in cursor.fetchall()})
