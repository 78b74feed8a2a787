"""The base of operators' commands: data on stdout, ``--json``, exit codes, confirmation.

Exit codes: 0 done, 1 failed or unhealthy, 2 wrong use, 3 not found, 4 conflict, 5 a server is
away, 6 done in part, 7 not done in time, 130 interrupted. All other text goes to stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

import orjson
import redis
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    OutputWrapper,
)
from django.db import InterfaceError, OperationalError, ProgrammingError

from shared.command_parser import (
    HelpFormatter,
    Verb,
    add_common_options,
    add_verbs,
    examples_text,
    suggest_on_error,
)
from shared.exceptions import FieldError, InvalidInput, PunctualError
from shared.instants import format_instant
from shared.progress import Progress, progress

FAILED, WRONG_USE, NOT_FOUND, CONFLICT, UNREACHABLE, PARTIAL = 1, 2, 3, 4, 5, 6
TIMED_OUT, INTERRUPTED = 7, 130
_EXIT_CODES = {
    400: WRONG_USE,
    404: NOT_FOUND,
    409: CONFLICT,
    410: NOT_FOUND,
    412: CONFLICT,
    413: WRONG_USE,
    503: UNREACHABLE,
}
_GREEN, _RED, _YELLOW, _BLUE, _GREY = "32", "31", "33", "34", "90"
_COLOURS = {
    "SUCCEEDED": _GREEN,
    "COMPLETED": _GREEN,
    "FAILED": _RED,
    "TIMED_OUT": _RED,
    "WORKER_LOST": _RED,
    "STOPPED": _RED,
    "RETRYING": _YELLOW,
    "PAUSED": _YELLOW,
    "RUNNING": _BLUE,
    "QUEUED": _BLUE,
    "CANCELLED": _GREY,
    "SKIPPED": _GREY,
}
_STATE_COLUMNS = ("status", "state", "outcome")


class Error(CommandError):
    """A command cannot do its work; Django prints ``Error:`` and the message."""


def with_former_names(action: argparse.Action) -> argparse.Action:
    """Show an option by its first name alone; its other names are former ones, taken as before.

    A former name lives for one version after the change; help, completion and pages leave it out.
    """
    action.option_strings = action.option_strings[:1]
    return action


class PunctualCommand(BaseCommand):
    """A command that calls a service and prints the result.

    Subclasses define ``add_options`` and ``run``; product errors become exit codes here.
    """

    # The checks of a deployment belong to `check` and `doctor`; here they would delay.
    requires_system_checks = ()
    _quiet = False
    _colours = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options that every command has, then the command's own."""
        self.add_options(parser)
        if not isinstance(self, VerbCommand):
            suggest_on_error(parser, [parser])

    def add_options(self, parser: CommandParser) -> None:
        """Add the command's own arguments."""

    def run(self, options: Mapping[str, Any]) -> None:
        """Do the work."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, and turn an error into a message and an exit code."""
        self._quiet = bool(options.get("quiet"))
        self._colours = _wants_colours(self.stdout, options)
        try:
            self.run(options)
        except InvalidInput as error:
            details = "; ".join(item.message for item in error.errors)
            raise Error(details or error.message, returncode=WRONG_USE) from error
        except PunctualError as error:
            raise Error(error.message, returncode=exit_code_of(error)) from error
        except (OperationalError, InterfaceError) as error:
            message = f"The database cannot be reached. {first_line(error)}".rstrip()
            raise Error(message, returncode=UNREACHABLE) from error
        except ImproperlyConfigured as error:
            # Without a database the settings choose a backend that refuses every use.
            message = (
                f"No database is known: Punctual is not running on the data directory "
                f"{settings.DATA_DIR}. Start `manage.py up`, name another data directory "
                "(DATA_DIR=/path), or set DATABASE_URL."
            )
            raise Error(message, returncode=UNREACHABLE) from error
        except ProgrammingError as error:
            message = f"The database lacks something. Run `manage.py migrate`. {first_line(error)}"
            raise Error(message, returncode=CONFLICT) from error
        except (redis.ConnectionError, redis.TimeoutError) as error:
            message = f"Redis cannot be reached. {first_line(error)}".rstrip()
            raise Error(message, returncode=UNREACHABLE) from error
        except KeyboardInterrupt as error:
            raise Error("Interrupted.", returncode=INTERRUPTED) from error
        except BrokenPipeError:
            # `| head` has closed the pipe: /dev/null takes the output that Python still flushes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def emit(
        self, options: Mapping[str, Any], document: Mapping[str, Any], lines: Iterable[str]
    ) -> None:
        """Print the document with ``--json``, the lines otherwise."""
        if options["json"]:
            self.stdout.write(_json({"schema": 1, **document}, orjson.OPT_INDENT_2))
            return
        for line in lines:
            self.stdout.write(line)

    def emit_line(self, document: Mapping[str, Any]) -> None:
        """Print one object of a stream, as ``--jsonl`` does; a reader gets it at once."""
        self.stdout.write(_json({"schema": 1, **document}))
        self.stdout.flush()

    def note(self, text: str) -> None:
        """Print a hint, a warning or a next step on stderr; nothing with ``--quiet``."""
        if not self._quiet:
            self.stderr.write(text, style_func=str)

    def paint(self, text: str) -> str:
        """Return a state's word in its colour on a terminal that wants colours."""
        colour = _COLOURS.get(text.strip()) if self._colours else None
        return f"\x1b[{colour}m{text}\x1b[0m" if colour else text

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Progress]:
        """Show progress on stderr while the block runs; nothing with ``--quiet``."""
        with progress(label, total, _Plain(None if self._quiet else self.stderr)) as shown_progress:
            yield shown_progress

    def leave(self, code: int) -> NoReturn:
        """End with an exit code; the command has printed its output already."""
        self.stdout.flush()
        sys.exit(code)

    def confirm(self, options: Mapping[str, Any], question: str) -> None:
        """Ask before something dangerous; without a terminal only ``--yes`` is a yes."""
        if options["yes"]:
            return
        if not sys.stdin.isatty():
            raise Error("This needs --yes where there is no terminal.", returncode=WRONG_USE)
        self.stderr.write(f"{question} [y/N] ", ending="")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Error("Nothing was changed.", returncode=FAILED)


class VerbCommand(PunctualCommand):
    """A command with verbs; subclasses name them in ``verbs``."""

    verbs: ClassVar[tuple[Verb, ...]] = ()

    def add_options(self, parser: CommandParser) -> None:
        """Add the verbs."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(verb.examples[0] for verb in self.verbs)
        add_verbs(parser, self.verbs)

    def run(self, options: Mapping[str, Any]) -> None:
        """Call the verb."""
        next(verb for verb in self.verbs if verb.name == options["verb"]).run(self, options)


def exit_code_of(error: PunctualError) -> int:
    """Return the exit code of this kind of error."""
    return _EXIT_CODES.get(error.status, FAILED)


def wrong_use(option: str, message: str) -> InvalidInput:
    """Return the error of an option whose value cannot be used; its exit code is 2."""
    return InvalidInput([FieldError(option, "invalid", f"{option}: {message}")], message)


def add_json_option(parser: CommandParser) -> None:
    """Add ``--json`` and the options that always go with it: ``--quiet`` and ``--no-color``."""
    add_common_options(parser)


def table(
    heading: Sequence[str],
    rows: Iterable[Sequence[Any]],
    paint: Callable[[str], str] | None = None,
) -> list[str]:
    """Return aligned columns; an empty table is its heading.

    ``paint`` gets the cells of columns that show a state, ``PunctualCommand.paint`` for example.
    """
    texts = [list(heading), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(heading))]
    painted = {place for place, name in enumerate(heading) if name in _STATE_COLUMNS and paint}
    lines = []
    for row in texts:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        cells[-1] = cells[-1].rstrip()
        lines.append(
            "  ".join(
                paint(cell) if paint and place in painted else cell
                for place, cell in enumerate(cells)
            ).rstrip()
        )
    return lines


def shown(text: str, width: int | None = None) -> str:
    """Return untrusted text for a terminal: no control characters, and cut to the width."""
    safe = "".join(letter if letter.isprintable() else "?" for letter in text)
    return safe if width is None or len(safe) <= width else f"{safe[: width - 1]}…"


def shown_id(text: str, width: int) -> str:
    """Return an id for a terminal, cut in its middle: ids differ at their ends."""
    safe = shown(text)
    head = (width - 1) // 2
    return safe if len(safe) <= width else f"{safe[:head]}…{safe[head + 1 - width :]}"


def first_line(error: Exception) -> str:
    """Return the first line of a server's error."""
    return shown(next(iter(str(error).strip().splitlines()), ""))


class _Plain:
    """A stream of Django's as progress needs it: neither coloured nor given line ends."""

    def __init__(self, stream: OutputWrapper | None) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text, style_func=str, ending="")

    def flush(self) -> None:
        if self._stream is not None:
            self._stream.flush()

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()


def _wants_colours(stream: OutputWrapper, options: Mapping[str, Any]) -> bool:
    if options.get("no_color") or os.environ.get("NO_COLOR"):
        return False
    return bool(options.get("force_color")) or stream.isatty()


def _json(document: Mapping[str, Any], option: int = 0) -> str:
    option |= orjson.OPT_PASSTHROUGH_DATETIME
    return orjson.dumps(document, default=_encode, option=option).decode()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return shown(format_instant(value) if hasattr(value, "astimezone") else str(value))


def _encode(value: Any) -> Any:
    return format_instant(value) if hasattr(value, "astimezone") else str(value)
