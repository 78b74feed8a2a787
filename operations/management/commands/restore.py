"""``manage.py restore``: makes an installation of a backup; it runs nothing until confirmed.

``--from FILE`` restores and sets the fence. ``--fence`` only sets it, after a database was
recovered by other means. ``--confirm`` shows what would run and lifts the fence.
Exit codes: 0 done; 1 failed or not confirmed; 2 wrong use; 4 refused, nothing was touched: damaged
file, wrong passphrase, newer version, target not empty or running; 5 database or Redis away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import connection, transaction

from events import audit
from executions.ownership import fence, restored
from executions.ownership.restored import PolicyShare, Preview
from launcher import local_state
from launcher.embedded import EmbeddedError
from launcher.privileges import PrivilegeError
from operations.backup import erased_tenants, passphrase
from operations.backup.place import Place
from operations.backup.restore import Checked, check, restore
from shared import env
from shared.actor import COMMAND
from shared.command_parser import HelpFormatter, add_common_options, examples_text
from shared.commands import (
    FAILED,
    UNREACHABLE,
    WRONG_USE,
    Error,
    PunctualCommand,
    first_line,
    table,
)
from shared.conf import conf
from shared.instants import format_instant
from wire import start_guard

_MEANINGS = {
    "skip": "none of them runs",
    "coalesce": "each task runs once",
    "replay": "every missed instant runs, up to the task's limit",
}


class Command(PunctualCommand):
    """Door to ``operations.backup.restore`` and to the fence: sets and lifts it."""

    help = (
        "Restore a backup into an empty installation. Nothing of it runs until "
        "`restore --confirm`, which first shows what would run."
    )

    def add_options(self, parser: CommandParser) -> None:
        """Add the three actions, and the options of the dangerous ones."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(
            ("restore --from punctual.backup", "restore --confirm", "restore --fence --yes")
        )
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--from", type=Path, dest="source", metavar="FILE", help="restore this backup"
        )
        what.add_argument(
            "--fence",
            action="store_true",
            help="run nothing until confirmed, after the database was recovered by other means",
        )
        what.add_argument(
            "--confirm", action="store_true", help="show what would run, then let it run"
        )
        parser.add_argument(
            "--runs",
            choices=restored.RUNS,
            default=restored.RUNS[0],
            help="what --confirm does with open runs of workflows (%(default)s)",
        )
        parser.add_argument(
            "--overwrite",
            action="store_true",
            help="replace an installation that is not empty; needs --yes",
        )
        parser.add_argument(
            "--erased",
            type=Path,
            metavar="FILE",
            help="destroy the data keys of the tenants in this copy of erased-tenants.json, too",
        )
        add_common_options(parser, yes=True)

    def run(self, options: Mapping[str, Any]) -> None:
        """Do the chosen action."""
        if options["confirm"]:
            self._confirm(options)
        elif options["fence"]:
            self._fence(options)
        else:
            self._restore(options)

    def _restore(self, options: Mapping[str, Any]) -> None:
        if options["overwrite"] and not options["yes"]:
            raise Error(
                "--overwrite destroys the present data; it needs --yes.", returncode=WRONG_USE
            )
        # The database that `up` would use; the settings would name the running one.
        place = Place(local_state.data_dir(), env.text("DATABASE_URL"))
        try:
            erased = _erased(options["erased"])
            checked = check(options["source"], passphrase.for_restore())
            closed = restore(checked, place, overwrite=options["overwrite"], erased=erased)
        except (EmbeddedError, PrivilegeError) as error:
            raise Error(str(error), returncode=FAILED) from error
        except psycopg.OperationalError as error:
            raise Error(first_line(error), returncode=UNREACHABLE) from error
        except OSError as error:
            message = f"{error.filename or options['source']}: {error.strerror}"
            raise Error(message, returncode=FAILED) from error
        self.emit(options, _restored(checked), _restored_lines(checked))
        if closed:
            self.note(
                f"Tenants of the backup that were erased since: {closed}. Their data keys are "
                "destroyed. Remove what is left of them by `manage.py tenant erase`."
            )
        self.note("Next: `manage.py up`, then `manage.py restore --confirm`.")

    def _fence(self, options: Mapping[str, Any]) -> None:
        self.confirm(options, "Run nothing until `restore --confirm`?")
        with transaction.atomic(), connection.cursor() as cursor:
            taken = fence.hold(cursor)
            audit.record_of_installation(
                COMMAND, "restore.fenced", "installation", "installation", partitions=taken
            )
        if settings.REDIS_URL:
            start_guard.renew_incarnation()
        document = {"done": "fence", "fenced": True, "partitions": taken}
        self.emit(options, document, [f"Nothing runs: the fence holds {taken} partitions."])
        seconds = conf().partition_lease_seconds
        self.note(f"A scheduler that still runs may release work for up to {seconds:g} s.")

    def _confirm(self, options: Mapping[str, Any]) -> None:
        seen = restored.preview()
        if not options["json"]:
            for line in _preview_lines(seen):
                self.stdout.write(line)
        self.confirm(options, "Let it run?")
        taken_back = restored.confirm(seen, actor=COMMAND, runs=options["runs"])
        audit.record_of_installation(
            COMMAND,
            "restore.confirmed",
            "installation",
            "installation",
            known_until=seen.known_until,
            runs=options["runs"],
        )
        document = {
            "done": "confirm",
            "fenced": False,
            "taken_back": taken_back,
            "runs": options["runs"],
            "preview": seen.as_json(),
        }
        self.emit(options, document, ["Confirmed: schedulers take over within seconds."])


def _erased(path: Path | None) -> list[UUID]:
    if path is None:
        return []
    if not path.is_file():
        raise Error(f"There is no file {path}.", returncode=WRONG_USE)
    return erased_tenants.read(path)


def _restored(checked: Checked) -> dict[str, Any]:
    found = checked.manifest
    return {
        "done": "restore",
        "fenced": True,
        "database_time": found.database_time,
        "tables": len(found.row_counts),
        "rows": found.total_rows,
        "key_ids": found.key_ids,
    }


def _restored_lines(checked: Checked) -> Iterator[str]:
    found = checked.manifest
    yield f"Restored the state of {found.database_time}: {found.total_rows} rows, verified."
    yield "Nothing runs until `manage.py restore --confirm`."


def _preview_lines(seen: Preview) -> Iterator[str]:
    known = format_instant(seen.known_until)
    yield f"The data ends at {known}; now it is {format_instant(seen.now)}."
    yield ""
    yield "Missed meanwhile, for the misfire policy to decide:"
    yield from table(
        ("policy", "tasks", "prepared", "meaning"), [_share(one) for one in seen.policies]
    )
    yield ""
    yield "Under way at that moment; executions that ended after it run again (at least once):"
    rows = [
        ("running, to be rescued", seen.running),
        ("held by pull workers or by receivers, until the lease ends", seen.outside),
        ("retries that are due", seen.retries_due),
        ("retries that wait for their time", seen.retries_waiting),
        ("due runs on request, or in place of missed instants", seen.asked_due),
        ("bulk jobs that continue", seen.bulk_jobs),
        ("runs of workflows, which --runs decides about", seen.runs),
    ]
    yield from table(("what", "count"), rows)


def _share(one: PolicyShare) -> tuple[Any, ...]:
    return one.policy, one.tasks, one.prepared, _MEANINGS.get(one.policy, "")
