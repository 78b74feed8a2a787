"""One job of a crontab: its schedule in Punctual's dialect, its user, its command and its input.

Called by tasks/importers/crontab.py. Reads the lines that the crons of Linux and the BSDs read; a
note explains where they differ, or where Punctual differs. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from shared.exceptions import InvalidInput
from tasks.schedules import spec

_FIELDS = 5
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_RANDOM = re.compile(r"(\d{0,2})~(\d{0,2})", re.ASCII)
#: A value with a step and no range; a list may hold several.
_STEP_ALONE = re.compile(r"(?<![\w*/-])(\w{1,3})/\d{1,4}(?!\w)", re.ASCII)
_LINE = re.compile(r"((?:\S+[ \t]+){5})(\S.*)", re.DOTALL)
_NICKNAME = re.compile(r"(@\S*)[ \t]*(.*)", re.DOTALL)
#: Flags of FreeBSD and OpenBSD before the command.
_FLAGS = re.compile(r"(?:-[nqs]+[ \t]+)+", re.ASCII)
#: A name, also with a domain before or behind it, a group and a login class.
_USER = re.compile(r"(?!\d+$)(?:[\w.-]+[\\+])?[\w][\w.+~-]*\$?(?:@[\w.-]+)?(:[\w.-]+)?(/[\w.-]+)?")
#: The letter of the name is looked for ahead: two repeats around it would try each pair of ends.
_ANACRON = re.compile(
    r"(?:\d+|@\w+)[ \t]+\d+[ \t]+(?!\d+[ \t])(?=\S*[A-Za-z])[\w.:-]+[ \t]+\S.*", re.DOTALL
)
_ANACRON_REASON = (
    "This is a line of anacron (period, delay, name, command), which counts days since the last "
    "run and knows no time of day. Write it as a line of cron, such as 30 3 * * * command."
)
#: Names that only some crons know.
_NICKNAMES = {
    "@every_minute": "* * * * *",
    "@minutely": "* * * * *",
    "@every_second": "* * * * * *",
    "@quarterly": "0 0 1 1,4,7,10 *",
    "@semi-annually": "0 0 1 1,7 *",
    "@semiannually": "0 0 1 1,7 *",
    "@bi-annually": "0 0 1 1,7 *",
    "@biannually": "0 0 1 1,7 *",
}


class Unread(Exception):
    """Why a line is refused."""


@dataclass(frozen=True, slots=True)
class Line:
    """The parts of a job; ``stdin`` is the text after a ``%``."""

    expression: str
    user: str | None
    command: str
    stdin: str | None
    single: bool
    notes: tuple[str, ...]


def split_line(line: str, *, system: bool) -> Line:
    """Return the parts of a job; ``system``: a user precedes the command.

    White space after the start of the command belongs to the command.
    """
    notes: list[str] = []
    if _ANACRON.fullmatch(line) and not _begins_with_schedule(line):
        raise Unread(_ANACRON_REASON)
    expression, rest = _split_schedule(line, notes)
    user, rest = _split_user(rest) if system else (None, rest)
    flags = _FLAGS.match(rest)
    single = flags is not None and "s" in flags[0]
    if flags:
        rest = rest[flags.end() :]
        notes.append(_about_flags(flags[0]))
    command, stdin = split_input(rest)
    if not command.strip():
        raise Unread("There is no command after the schedule.")
    return Line(expression, user, command, stdin, single, tuple(notes))


def split_input(rest: str) -> tuple[str, str | None]:
    """Return command and input as cronie splits them.

    The first ``%`` that no backslash escapes ends the command; in the input each such ``%`` ends a
    line. Of two backslashes in the command the second escapes nothing.
    """
    command, at = "", 0
    while at < len(rest) and rest[at] != "%":
        pair = rest[at : at + 2]
        taken = pair if pair[0] == "\\" else pair[0]
        command += "%" if taken == "\\%" else taken
        at += len(taken)
    if at == len(rest):
        return command, None
    lines = [part.replace("\\%", "%") for part in re.split(r"(?<!\\)%", rest[at + 1 :])]
    return command, "\n".join(lines)


def job_behind(name: str, value: str) -> None:
    """Raise Unread where a job follows the value of a variable in the same line."""
    first, *rest = value.split(None, 1) or [""]
    behind = "".join(rest)
    line, nickname = _LINE.fullmatch(behind), _NICKNAME.fullmatch(behind)
    expression = line[1] if line else nickname[1] if nickname and nickname[2] else ""
    if not _is_schedule(expression):
        return
    raise Unread(
        f"Cron reads this line as the variable {name} alone, so its job never runs. Write "
        f"{name}={first} into a line of its own, above the job."
    )


def _begins_with_schedule(line: str) -> bool:
    """Return whether a command follows five fields of cron, L, 1W and H included."""
    found = _LINE.fullmatch(line)
    return found is not None and _is_schedule(found[1])


def _is_schedule(expression: str) -> bool:
    try:
        spec.parse("RECURRING", {"cron_expression": " ".join(expression.split())})
    except InvalidInput:
        return False
    return True


def _split_schedule(line: str, notes: list[str]) -> tuple[str, str]:
    """Return the expression in Punctual's dialect and the rest of the line."""
    if line.startswith("-"):
        line = line[1:]
        notes.append("the leading '-' (no line in syslog) has no meaning here")
    nickname = _NICKNAME.fullmatch(line)
    if nickname:
        return _named_schedule(nickname[1], notes), nickname[2]
    found = _LINE.fullmatch(line)
    if not found:
        raise Unread(
            f"A line has {_FIELDS} time fields and a command; this one has {len(line.split())} "
            "words. Comments begin with '#', variables look like NAME=value."
        )
    fields = found[1].split()
    if any("~" in item for item in fields):
        fields = [_hashed(*pair) for pair in zip(fields, _BOUNDS, strict=True)]
        notes.append("the random value of '~' is chosen once for the task")
    for at, item in enumerate(fields):
        alone = _STEP_ALONE.search(item)
        if alone:
            fields[at] = _STEP_ALONE.sub(r"\1", item)
            notes.append(
                f"cron runs {alone[0]!r} at {alone[1]} alone, or refuses it; write "
                f"*{alone[0][len(alone[1]) :]} for a step"
            )
    return " ".join(fields), found[2]


def _named_schedule(name: str, notes: list[str]) -> str:
    lowered = name.lower()
    if lowered == "@reboot":
        raise Unread("@reboot runs when the machine starts, which is not a time.")
    if lowered == "@every" or lowered[1:].isdigit():
        raise Unread(
            f"{name} is a fixed rate, which a line of a crontab does not have here. Create the "
            "task with `manage.py tasks create --every`."
        )
    if lowered in _NICKNAMES:
        notes.append(f"{name}, which few crons know, is {_NICKNAMES[lowered]}")
        return _NICKNAMES[lowered]
    return name


def _hashed(item: str, bounds: tuple[int, int]) -> str:
    low, high = bounds
    return _RANDOM.sub(lambda found: f"H({found[1] or low}-{found[2] or high})", item)


def _split_user(rest: str) -> tuple[str, str]:
    user, *command = rest.split(None, 1)[:2] or [""]
    if not _USER.fullmatch(user):
        raise Unread(
            f"The user column is missing: {_cut(user)!r} is not a user name. A crontab of "
            "one user has no such column; read it with --no-system."
            if user
            else "There is no user and no command after the schedule."
        )
    return user, rest[len(user) :].lstrip(" \t") if command else ""


def _about_flags(flags: str) -> str:
    shown = " ".join(flags.split())
    if "s" in flags:
        return f"{shown} of BSD: a run is left out while the one before goes on; no mail is sent"
    return f"{shown} of BSD (no mail, no line in the log) has no meaning here"


def _cut(text: str) -> str:
    return text if len(text) <= 20 else f"{text[:20]}…"
