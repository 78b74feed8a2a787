"""The facts of a backup, and whether this version can restore it.

They are sealed with the rest of the file, because row counts and migrations reveal facts about
tenants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from django.db.migrations.loader import MigrationLoader

from operations.backup.exceptions import Unfit

FORMAT = 2
#: Facts about the dump in the first format; now the seal verifies the dump.
_FIRST_FORMAT, _OF_FIRST_FORMAT = 1, ("dump_bytes", "dump_sha256")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts of one backup; ``database_time`` is the moment whose state it holds."""

    database_time: str
    server_version: str
    server_major: int
    migrations: dict[str, list[str]]
    row_counts: dict[str, int]
    last_token: int
    key_ids: list[str]
    format: int = FORMAT

    def as_dict(self) -> dict[str, Any]:
        """Return the form in the file."""
        return asdict(self)

    @property
    def total_rows(self) -> int:
        """Return the rows of all tables."""
        return sum(self.row_counts.values())


def read_manifest(content: bytes) -> Manifest:
    """Return the manifest of this format or the first; raise Unfit for one of another format."""
    try:
        stored: dict[str, Any] = orjson.loads(content)
        if stored["format"] not in (_FIRST_FORMAT, FORMAT):
            raise Unfit(
                f"The backup has format {stored['format']}; this version reads up to {FORMAT}. "
                "Restore it with the version that made it, or a newer one."
            )
        if stored["format"] == _FIRST_FORMAT:
            stored = {k: v for k, v in stored.items() if k not in _OF_FIRST_FORMAT}
        return Manifest(**stored)
    except (ValueError, KeyError, TypeError) as error:
        raise Unfit("This is not the manifest of a backup.") from error


def known_migrations() -> dict[str, set[str]]:
    """Return the migrations that this version brings, by app, without a database."""
    loader = MigrationLoader(None)
    found: dict[str, set[str]] = {}
    for app, name in loader.disk_migrations or ():
        found.setdefault(app, set()).add(name)
    return found


def refuse_newer(found: Manifest, known: Mapping[str, set[str]]) -> None:
    """Raise Unfit when the backup has migrations that this version does not know.

    One of an older version fits: the start migrates it.
    """
    newer = [
        f"{app} {name}"
        for app, names in sorted(found.migrations.items())
        for name in names
        if name not in known.get(app, set())
    ]
    if newer:
        raise Unfit(
            f"The backup was made by a newer version: {', '.join(newer[:5])} is not known here. "
            "Install the version that made it, or a newer one."
        )
