"""What a backup says of itself, and whether this version can restore it.

Stands in the file in the clear, so that an operator sees what it holds without the passphrase.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from django.db.migrations.loader import MigrationLoader

from shared.exceptions import PunctualError

FORMAT = 1


class Unfit(PunctualError):
    """A backup cannot be restored here."""

    code = "backup_unfit"
    status = 409


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
    dump_bytes: int
    dump_sha256: str
    format: int = FORMAT

    def as_bytes(self) -> bytes:
        """Return the form in the file."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)

    @property
    def total_rows(self) -> int:
        """Return the rows of all tables."""
        return sum(self.row_counts.values())


def read_manifest(content: bytes) -> Manifest:
    """Return the manifest; raise Unfit for one of another format."""
    try:
        stored: dict[str, Any] = orjson.loads(content)
        if stored["format"] != FORMAT:
            raise Unfit(
                f"The backup has format {stored['format']}; this version reads {FORMAT}. "
                "Restore it with the version that made it, or a newer one."
            )
        return Manifest(**stored)
    except (ValueError, KeyError, TypeError) as error:
        raise Unfit("This is not the manifest of a backup.") from error


def known_migrations() -> dict[str, set[str]]:
    """Return the migrations that this version brings, by app; asks no database."""
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
