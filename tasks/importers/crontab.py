"""Reads a crontab, as `crontab -l` prints it or as packages install it under /etc/cron.d.

Called by the import service. Every line with a schedule becomes an :class:`Entry` or a
:class:`Refused` with the reason. No line is dropped silently, and a note explains where Punctual
behaves differently from cron. Pure: no file, no clock, no model.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from shared.exceptions import InvalidInput
from tasks.importers.crontab_line import Unread, job_behind, split_line
from tasks.limits import LABEL_VALUE_LENGTH, NAME_LENGTH
from tasks.schedules import spec

_ASSIGNMENT = re.compile(r"""("[^"]*"|'[^']*'|[^\s=]+)\s*=\s*(.*)""", re.DOTALL)
#: A command that begins with a plain word: no variable, quote or substitution.
_PROGRAM = re.compile(r"([\w.+/-]+)(?:\s|$)", re.ASCII)
_DELAY = re.compile(r"[0-9]{1,9}")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_MARK = "\ufeff"
_MAX_DELAY_MINUTES = 24 * 60
#: Each job keeps the variables above it: without a bound a text of one page takes gigabytes.
_MAX_VARIABLES = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """One job. ``expression`` is in Punctual's dialect; ``stdin`` is the text after a ``%``."""

    line: int
    text: str
    expression: str
    command: str
    user: str | None
    timezone: str
    stdin: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    jitter_seconds: int = 0
    #: Whether a run is left out while the one before still runs.
    single: bool = False
    notes: tuple[str, ...] = ()

    @property
    def schedule(self) -> dict[str, Any]:
        """Return the schedule in the form of a definition."""
        schedule = {
            "cron_expression": self.expression,
            "timezone": self.timezone,
            "jitter_seconds": self.jitter_seconds,
        }
        return schedule | ({"overlap_policy": "skip"} if self.single else {})


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that cannot be taken over, and why."""

    line: int
    text: str
    reason: str


def parse_crontab(text: str, *, system: bool, timezone: str = "UTC") -> list[Entry | Refused]:
    """Return every job of a crontab in its order; ``system``: a user precedes the command.

    ``timezone`` applies to lines without a ``CRON_TZ`` above them.
    """
    return list(_Reader(system, timezone).read(text))


def is_system_path(path: PurePath) -> bool:
    """Return whether files at this place have a user column."""
    return path.parent.name == "cron.d" or path.as_posix().endswith("/etc/crontab")


def identities(entries: list[Entry], source: str) -> list[str]:
    """Return a stable identity for each entry, the same when its file is read again.

    It is a hash of the file's name and the line's text; equal lines are counted, so that each
    keeps its own task.
    """
    seen: Counter[str] = Counter()
    found = []
    for entry in entries:
        seen[entry.text] += 1
        key = "\0".join((source, entry.text, str(seen[entry.text])))
        found.append(hashlib.sha256(key.encode()).hexdigest()[:16])
    return found


def definition_body(entry: Entry, *, url: str, path: str, identity: str) -> dict[str, Any]:
    """Return the body of the call that creates the entry's task."""
    payload: dict[str, Any] = {
        "command": entry.command,
        "user": entry.user,
        "line": entry.line,
        "source": path,
    }
    if entry.stdin is not None:
        payload["stdin"] = entry.stdin
    if entry.environment:
        payload["environment"] = entry.environment
    source = PurePath(path).name
    return {
        "name": _name(source, entry),
        "schedule": entry.schedule,
        "target": {"url": url},
        "payload": payload,
        "labels": import_labels(source) | {"import_line": identity},
    }


def import_labels(source: str) -> dict[str, str]:
    """Return the labels of every task that came from the file of this name."""
    return {"import": "crontab", "import_file": source[:LABEL_VALUE_LENGTH]}


def _name(source: str, entry: Entry) -> str:
    """Return the file, the program and the line.

    A name is stored, listed and mailed in clear, and what follows a program may be secret.
    """
    program = _PROGRAM.match(entry.command)
    named = f"{PurePath(program[1]).name}, " if program else ""
    text = f"{source}: {named}line {entry.line}"
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= NAME_LENGTH else f"{text[: NAME_LENGTH - 1]}…"


class _Reader:
    """Reads line by line; an assignment applies to the lines below it."""

    def __init__(self, system: bool, timezone: str) -> None:
        self._system = system
        self._timezone = timezone
        self._default_zone = timezone
        self._delay_minutes = 0
        self._environment: dict[str, str] = {}

    def read(self, text: str) -> Iterator[Entry | Refused]:
        marked = text.startswith(_MARK)
        lines = _lines(text.removeprefix(_MARK))
        unended = len(lines) if lines[-1].strip() else 0
        for number, raw in enumerate(lines, start=1):
            line = raw.strip(" \t\r")
            if not line or line.startswith("#"):
                continue
            try:
                entry = self._line(number, line, raw.rstrip("\r").lstrip(" \t"))
            except Unread as refusal:
                yield Refused(number, line, str(refusal))
                continue
            if entry is None:
                continue
            if marked and number == 1:
                entry = _noted(entry, "cron does not read a line behind a byte order mark")
            if number == unended:
                entry = _noted(
                    entry, "cron ignores a last line without a line break; it is imported"
                )
            yield entry

    def _line(self, number: int, line: str, whole: str) -> Entry | None:
        if _UNSTORABLE.search(line):
            raise Unread("The line is not UTF-8 text, or holds a NUL.")
        assignment = _ASSIGNMENT.fullmatch(line)
        if assignment:
            self._assign(_unquoted(assignment[1]), assignment[2].rstrip())
            return None
        return self._job(number, line, whole)

    def _assign(self, name: str, written: str) -> None:
        job_behind(name, written)
        value = _unquoted(written)
        if name == "CRON_TZ":
            self._timezone = value or self._default_zone
        elif name == "RANDOM_DELAY":
            if not _DELAY.fullmatch(value) or int(value) > _MAX_DELAY_MINUTES:
                raise Unread(f"RANDOM_DELAY must be 0 to {_MAX_DELAY_MINUTES} minutes.")
            self._delay_minutes = int(value)
        elif name not in self._environment and len(self._environment) == _MAX_VARIABLES:
            raise Unread(f"At most {_MAX_VARIABLES} variables are set for the jobs of a crontab.")
        else:
            self._environment[name] = value

    def _job(self, number: int, line: str, whole: str) -> Entry:
        found = split_line(whole, system=self._system)
        if found.stdin is None and _escapes_line_end(found.command):
            raise Unread(
                "The line ends with a backslash; cron does not continue lines, so the command "
                "is cut off here. Write it in one line."
            )
        entry = Entry(
            line=number,
            text=line,
            expression=found.expression,
            command=found.command,
            user=found.user,
            timezone=self._timezone,
            stdin=found.stdin,
            environment=dict(self._environment),
            jitter_seconds=self._delay_minutes * 60,
            single=found.single,
            notes=(*found.notes, *self._differences(found.command, found.stdin)),
        )
        _check_schedule(entry)
        return entry

    def _differences(self, command: str, stdin: str | None) -> Iterator[str]:
        if self._delay_minutes:
            yield f"RANDOM_DELAY: each run is delayed by up to {self._delay_minutes} min"
        if stdin is not None:
            yield "what follows '%' is the command's input; it is in the payload as 'stdin'"
        if not self._system and command.startswith("root "):
            yield "the command begins with 'root'; a system crontab is read with --system"


def _escapes_line_end(command: str) -> bool:
    """Return whether a backslash at the end escapes the line's end: of two, one escapes none."""
    return (len(command) - len(command.rstrip("\\"))) % 2 == 1


def _lines(text: str) -> list[str]:
    """Return the lines; those of an old Macintosh end with a carriage return alone."""
    return text.split("\n" if "\n" in text else "\r")


def _check_schedule(entry: Entry) -> None:
    try:
        spec.parse("RECURRING", entry.schedule)
    except InvalidInput as error:
        reasons = [
            f"CRON_TZ={entry.timezone}: {item.message}"
            if item.pointer.endswith("/timezone")
            else item.message
            for item in error.errors
        ]
        raise Unread(" ".join(reasons)) from error


def _noted(entry: Entry, note: str) -> Entry:
    return replace(entry, notes=(*entry.notes, note))


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
