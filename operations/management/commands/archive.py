"""``manage.py archive``: days of the ledger in files, written before their tables were dropped.

Exit codes: 0 done; 1 a file is damaged, or the disk refuses it; 2 wrong use; 3 no such day;
4 refused: a damaged file, or the ledger has the day; 5 no database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from django.core.management.base import CommandParser

from executions.ledger.archive.reading import TABLES, read_day
from executions.ledger.archiving import export_day, restore_day
from operations import archives
from shared.command_parser import Verb
from shared.commands import FAILED, UNREACHABLE, Error, VerbCommand, first_line, wrong_use

_KEEP_DAYS = 7
_MOST_KEEP_DAYS = 3650


def _list(command: Any, options: Mapping[str, Any]) -> None:
    root = archives.root_of(options)
    with _told(root):
        found = archives.found_in(root, read_all=options["verify"])
    document = {"directory": str(root), "parts": found}
    command.emit(options, document, archives.list_lines(found))
    problems = [one["problem"] for one in found if one["state"] == archives.DAMAGED]
    for problem in problems:
        command.note(problem)
    if problems:
        command.leave(FAILED)


def _export(command: Any, options: Mapping[str, Any]) -> None:
    root, day = archives.root_of(options), archives.day_option(options["day"])
    with _told(root):
        done = export_day(root, day)
    document = {
        "day": f"{day}",
        "unfinished": done.unfinished,
        "parts": [archives.described(part) for part in done.parts],
    }
    command.emit(options, document, archives.parts_lines(done.parts, root))
    if done.unfinished:
        command.note(f"{done.unfinished} executions are unfinished; export the day again later.")


def _read(command: Any, options: Mapping[str, Any]) -> None:
    root, day = archives.root_of(options), archives.day_option(options["day"])
    with _told(root):
        found = read_day(root, options["table"], f"{day}", archives.chosen(options))
        if options["json"]:
            rows = list(found)
            about = {"day": f"{day}", "table": options["table"], "total": len(rows)}
            command.emit(options, {**about, "rows": rows}, ())
            return
        count = 0
        for row in found:
            command.emit_line(row)
            count += 1
    command.note(f"{count} rows")


def _restore(command: Any, options: Mapping[str, Any]) -> None:
    root, day = archives.root_of(options), archives.day_option(options["day"])
    if not 1 <= options["keep_days"] <= _MOST_KEEP_DAYS:
        raise wrong_use("--keep-days", f"give 1 to {_MOST_KEEP_DAYS}")
    with _told(root):
        done = restore_day(root, day, keep_days=options["keep_days"])
    document = {
        "day": f"{day}",
        "kept_until": f"{done.kept_until}",
        "rows": done.rows,
        "left_out": done.left_out,
    }
    lines = [f"{name}  {count} rows" for name, count in done.rows.items()]
    command.emit(options, document, lines)
    command.note(f"{day} is in the ledger again until the end of {done.kept_until}.")
    if done.left_out:
        command.note(f"{done.left_out} rows of tenants that were removed since stayed outside.")


@contextmanager
def _told(root: Any) -> Iterator[None]:
    """Turn a refusal of the disk or the server into an error of one line."""
    try:
        yield
    except BrokenPipeError:
        # The reader of the output has closed the pipe.
        raise
    except psycopg.OperationalError as error:
        raise Error(first_line(error), returncode=UNREACHABLE) from error
    except psycopg.Error as error:
        raise Error(first_line(error), returncode=FAILED) from error
    except OSError as error:
        raise Error(f"{error.filename or root}: {error.strerror}", returncode=FAILED) from error


def _add_dir(parser: CommandParser) -> None:
    parser.add_argument("--dir", metavar="DIR", help="another archive than ARCHIVE_DIR")


def _add_day(parser: CommandParser) -> None:
    parser.add_argument("--day", required=True, metavar="DATE", help="such as 2026-01-31, in UTC")
    _add_dir(parser)


def _add_list_options(parser: CommandParser) -> None:
    parser.add_argument("--verify", action="store_true", help="read every file and compare sums")
    _add_dir(parser)


def _add_read_options(parser: CommandParser) -> None:
    _add_day(parser)
    parser.add_argument("--table", choices=TABLES, default=TABLES[0], help="(executions)")
    parser.add_argument("--task", metavar="ID", help="only of this task")
    parser.add_argument("--execution", metavar="ID", help="only of this execution")


def _add_restore_options(parser: CommandParser) -> None:
    _add_day(parser)
    parser.add_argument(
        "--keep-days",
        type=int,
        default=_KEEP_DAYS,
        metavar="N",
        help=f"days for which the retention keeps it ({_KEEP_DAYS})",
    )


class Command(VerbCommand):
    """List, write, read and bring back archived days."""

    help = "Days of history in compressed files, written before they are dropped."
    verbs = (
        Verb(
            "list",
            "list the archived days, oldest first",
            ("archive list", "archive list --verify"),
            _list,
            _add_list_options,
        ),
        Verb(
            "export",
            "write a day of the ledger to the archive now; it stays in the ledger",
            ("archive export --day 2026-01-31",),
            _export,
            _add_day,
        ),
        Verb(
            "read",
            "print the rows of an archived day, one JSON line each",
            (
                "archive read --day 2026-01-31 --task 01a0b1c2-0000-7000-8000-000000000001",
                "archive read --day 2026-01-31 --table attempts --json",
            ),
            _read,
            _add_read_options,
            stream=True,
        ),
        Verb(
            "restore",
            "bring an archived day back into the ledger, to be queried",
            ("archive restore --day 2026-01-31 --keep-days 14",),
            _restore,
            _add_restore_options,
        ),
    )
