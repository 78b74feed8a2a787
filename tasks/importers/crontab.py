"""Reads a crontab, as `crontab -l` prints it or as packages install it under /etc/cron.d.

Called by the import service. Every line with a schedule becomes an :class:`Entry` or a
:class:`Refused` with the reason; nothing is dropped silently, and a note says where Punctual
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
from tasks.limits import LABEL_VALUE_LENGTH, NAME_LENGTH
from tasks.schedules import spec

_ASSIGNMENT = re.compile(r"""("[^"]*"|'[^']*'|[^\s=]+)\s*=\s*(.*)""", re.DOTALL)
_USER = re.compile(r"[A-Za-z_][\w.-]*\$?(:[\w.-]+)?(/[\w.-]+)?", re.ASCII)
_FIELDS = 5
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_RANDOM = re.compile(r"(\d{0,2})~(\d{0,2})", re.ASCII)
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_MAX_DELAY_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True)
class Entry:
    """One job. ``expression`` is in Punctual's dialect; ``stdin`` is what followed a ``%``."""

    line: int
    text: str
    expression: str
    command: str
    user: str | None
    timezone: str
    stdin: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    jitter_seconds: int = 0
    notes: tuple[str, ...] = ()

    @property
    def schedule(self) -> dict[str, Any]:
        """Return the schedule as a definition has it."""
        return {
            "cron_expression": self.expression,
            "timezone": self.timezone,
            "jitter_seconds": self.jitter_seconds,
        }


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that cannot be taken over, and why."""

    line: int
    text: str
    reason: str


class _Refusal(Exception):
    """Why a line is refused."""


def parse_crontab(text: str, *, system: bool, timezone: str = "UTC") -> list[Entry | Refused]:
    """Return every job of a crontab in its order; ``system``: a user stands before the command.

    ``timezone`` holds for lines above which no ``CRON_TZ`` stands.
    """
    return list(_Reader(system, timezone).read(text))


def is_system_path(path: PurePath) -> bool:
    """Tell whether files at this place have a user column."""
    return path.parent.name == "cron.d" or path.as_posix().endswith("/etc/crontab")


def identities(entries: list[Entry], source: str) -> list[str]:
    """Return what stays the same of each entry when its file is read again.

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
        "name": _name(source, entry.command),
        "schedule": entry.schedule,
        "target": {"url": url},
        "payload": payload,
        "labels": import_labels(source) | {"import_line": identity},
    }


def import_labels(source: str) -> dict[str, str]:
    """Return the labels of every task that came from the file of this name."""
    return {"import": "crontab", "import_file": source[:LABEL_VALUE_LENGTH]}


def _name(source: str, command: str) -> str:
    text = f"{source}: {' '.join(command.split())}"
    text = "".join(letter if letter.isprintable() else "?" for letter in text)
    return text if len(text) <= NAME_LENGTH else f"{text[: NAME_LENGTH - 1]}…"


class _Reader:
    """Reads line by line; what is assigned holds for the lines below."""

    def __init__(self, system: bool, timezone: str) -> None:
        self._system = system
        self._timezone = timezone
        self._default_zone = timezone
        self._delay_minutes = 0
        self._environment: dict[str, str] = {}

    def read(self, text: str) -> Iterator[Entry | Refused]:
        lines = text.split("\n")
        unended = len(lines) if lines[-1].strip() else 0
        for number, raw in enumerate(lines, start=1):
            line = raw.strip(" \t\r")
            if not line or line.startswith("#"):
                continue
            try:
                entry = self._line(number, line)
            except _Refusal as refusal:
                yield Refused(number, line, str(refusal))
                continue
            if entry is not None:
                note = "cron ignores a last line without a line break; it is imported"
                yield _noted(entry, note) if number == unended else entry

    def _line(self, number: int, line: str) -> Entry | None:
        if _UNSTORABLE.search(line):
            raise _Refusal("The line is not UTF-8 text, or holds a NUL.")
        assignment = _ASSIGNMENT.fullmatch(line)
        if assignment:
            self._assign(_unquoted(assignment[1]), _unquoted(assignment[2].rstrip()))
            return None
        return self._job(number, line)

    def _assign(self, name: str, value: str) -> None:
        if name == "CRON_TZ":
            self._timezone = value or self._default_zone
        elif name == "RANDOM_DELAY":
            if not value.isascii() or not value.isdigit() or int(value) > _MAX_DELAY_MINUTES:
                raise _Refusal(f"RANDOM_DELAY must be 0 to {_MAX_DELAY_MINUTES} minutes.")
            self._delay_minutes = int(value)
        else:
            self._environment[name] = value

    def _job(self, number: int, line: str) -> Entry:
        notes: list[str] = []
        expression, rest = _split_schedule(line, notes)
        user, rest = self._split_user(rest)
        command, stdin = _split_stdin(rest)
        if not command:
            raise _Refusal("There is no command after the schedule.")
        if command.endswith("\\"):
            raise _Refusal(
                "The line ends with a backslash; cron does not continue lines, so the command "
                "is cut off here. Write it in one line."
            )
        entry = Entry(
            line=number,
            text=line,
            expression=expression,
            command=command,
            user=user,
            timezone=self._timezone,
            stdin=stdin,
            environment=dict(self._environment),
            jitter_seconds=self._delay_minutes * 60,
            notes=(*notes, *self._differences(command, stdin)),
        )
        _check_schedule(entry)
        return entry

    def _split_user(self, rest: str) -> tuple[str | None, str]:
        if not self._system:
            return None, rest
        user, _, command = rest.partition(" ")
        if not _USER.fullmatch(user):
            raise _Refusal(
                f"The user column is missing: {_cut(user)!r} is not a user name. A crontab of "
                "one user has no such column; read it with --no-system."
                if user
                else "There is no user and no command after the schedule."
            )
        return user, command.strip()

    def _differences(self, command: str, stdin: str | None) -> Iterator[str]:
        if self._delay_minutes:
            yield f"RANDOM_DELAY: each run is delayed by up to {self._delay_minutes} min"
        if stdin is not None:
            yield "what follows '%' is the command's input; it is in the payload as 'stdin'"
        if not self._system and command.startswith("root "):
            yield "the command begins with 'root'; a system crontab is read with --system"


def _split_schedule(line: str, notes: list[str]) -> tuple[str, str]:
    """Return the expression in Punctual's dialect and what follows it."""
    if line.startswith("@"):
        name, _, rest = line.replace("\t", " ").partition(" ")
        if name.lower() == "@reboot":
            raise _Refusal("@reboot runs when the machine starts, which is not a time.")
        return name, rest.strip()
    words = line.split(None, _FIELDS)
    if len(words) <= _FIELDS:
        raise _Refusal(
            f"A line has {_FIELDS} time fields and a command; this one has {len(words)} words. "
            "Comments begin with '#', variables look like NAME=value."
        )
    fields = words[:_FIELDS]
    if fields[0].startswith("-"):
        fields[0] = fields[0][1:]
        notes.append("the leading '-' (no line in syslog) has no meaning here")
    if any("~" in item for item in fields):
        fields = [_hashed(*pair) for pair in zip(fields, _BOUNDS, strict=True)]
        notes.append("the random value of '~' is chosen once for the task")
    return " ".join(fields), words[_FIELDS].replace("\t", " ")


def _hashed(item: str, bounds: tuple[int, int]) -> str:
    low, high = bounds
    return _RANDOM.sub(lambda found: f"H({found[1] or low}-{found[2] or high})", item)


def _split_stdin(rest: str) -> tuple[str, str | None]:
    """Return command and input: an unescaped ``%`` ends the command, later ones end lines."""
    parts = [part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", rest)]
    stdin = "\n".join(parts[1:]) if len(parts) > 1 else None
    return parts[0].strip(), stdin


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
        raise _Refusal(" ".join(reasons)) from error


def _noted(entry: Entry, note: str) -> Entry:
    return replace(entry, notes=(*entry.notes, note))


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text


def _cut(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"
