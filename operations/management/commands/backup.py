"""``manage.py backup --to FILE``: one consistent dump of the database, with the keys it needs.

All of the file is sealed under the passphrase, which comes from BACKUP_PASSPHRASE or a terminal.
Exit codes: 0 done; 1 the dump failed; 2 no usable passphrase; 4 the file exists, or days are
leaving the ledger for an hour; 5 no database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from events import audit
from operations.backup import passphrase
from operations.backup.make import Made, make_backup
from shared.actor import COMMAND
from shared.command_parser import HelpFormatter, add_common_options, examples_text
from shared.commands import FAILED, Error, PunctualCommand, with_former_names


class Command(PunctualCommand):
    """Door to ``operations.backup.make``."""

    help = (
        "Write one file with a consistent dump of the database and the keys that open it, all of "
        "it sealed under a passphrase (BACKUP_PASSPHRASE, or asked for). Sessions are left out. "
        "The installation keeps running."
    )

    def add_options(self, parser: CommandParser) -> None:
        """Add where to, and whether to replace."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(
            ("backup --to punctual.backup", "backup --to /mnt/daily.backup --overwrite --json")
        )
        parser.add_argument("--to", type=Path, required=True, metavar="FILE", help="the new file")
        with_former_names(
            parser.add_argument(
                "--overwrite", "--force", action="store_true", help="replace an existing file"
            )
        )
        add_common_options(parser)

    def run(self, options: Mapping[str, Any]) -> None:
        """Make the backup and report its content."""
        words = passphrase.for_backup()
        try:
            made = make_backup(options["to"], words, force=options["overwrite"])
        except OSError as error:
            raise Error(f"{options['to']}: {error.strerror}", returncode=FAILED) from error
        audit.record_of_installation(
            COMMAND,
            "backup.made",
            "backup",
            made.path.name[:100],
            bytes=made.bytes,
            dump_sha256=made.dump_sha256,
        )
        self.emit(options, _document(made), _lines(made))
        self.note("Keep the passphrase elsewhere: the backup cannot be opened without it.")


def _document(made: Made) -> dict[str, Any]:
    found = made.manifest
    return {
        "file": str(made.path),
        "bytes": made.bytes,
        "database_time": found.database_time,
        "server_version": found.server_version,
        "tables": len(found.row_counts),
        "rows": found.total_rows,
        "key_ids": found.key_ids,
        "dump_sha256": made.dump_sha256,
    }


def _lines(made: Made) -> Iterator[str]:
    found = made.manifest
    yield f"{made.path}  {made.bytes} bytes"
    yield f"  state of       {found.database_time}"
    yield f"  rows           {found.total_rows} in {len(found.row_counts)} tables"
    yield f"  keys           {', '.join(found.key_ids)} and the secret key"
    yield "  sealed         all of it, under the passphrase"
