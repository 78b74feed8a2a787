"""Every operators' command as its parser knows it, and the reference page written from that.

``python -m tests.support.command_pages > docs/reference/commands.md`` writes the page again.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from operations.command_list import Door, Listed, commands

# What Django gives every command, and what every verb has; said once at the top of the page.
_DJANGO = {
    *("--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback"),
    *("--force-color", "--no-color", "--skip-checks"),
}
_COMMON = {"--json", "--quiet", "--no-color"}

_HEAD = """# Commands

Written from the commands' own parsers; a test holds this page to them. `manage.py COMMAND VERB
--help` says the same.

Data goes to stdout; hints, questions and progress to stderr. Nothing needs a terminal: what asks
there wants `--yes` elsewhere. Ids may be cut to their end, as lists show them. Times are RFC 3339,
a duration such as `2h`, `1h30m` and `PT15M`, or [plain words](schedules.md#in-plain-words) such as
`monday 9:00`. What means the same has one name in all commands; a former name of an option is taken
for one version more and shown nowhere.

Everywhere: `--json` prints one document whose schema stands in
[command-schemas/](command-schemas/), `--quiet` leaves out hints and progress, `--no-color` (or
the variable `NO_COLOR`) leaves out colours. Where `--jsonl` is offered, each line is one document.

Shells complete commands, verbs, options and their words: in bash and zsh after
`source <(manage.py completion bash)` (or `zsh`), also behind `python`; in fish after
`manage.py completion fish | source`.

| Exit code | Meaning |
|---|---|
| 0 | done |
| 1 | failed, or not healthy |
| 2 | wrong use |
| 3 | not found |
| 4 | conflict: the state or the version does not allow it |
| 5 | the database or Redis cannot be reached |
| 6 | done in part |
| 7 | not done in time |
| 130 | interrupted |
"""


def takes_json(door: Door) -> bool:
    return any("--json" in action.option_strings for action in door.options)


def examples(door: Door) -> list[str]:
    """Return the lines that can be pasted."""
    text = f"{door.parser.description or ''}\n{door.parser.epilog or ''}"
    start = f"manage.py {' '.join(door.words)}"
    return [line[line.index(start) :] for line in text.splitlines() if start in line]


def page() -> str:
    """Return the reference page of all commands."""
    return "\n".join([_HEAD, *(line for listed in commands() for line in _command(listed))])


def _command(listed: Listed) -> Iterator[str]:
    yield f"## {listed.top.words[0]}\n"
    yield f"{_prose(listed.top.help)}\n"
    if not listed.verbs:
        yield from _door(listed.top)
    for door in listed.verbs:
        yield f"### {' '.join(door.words)}\n"
        yield f"{_sentence(door.help)}\n"
        yield from _door(door)


def _door(door: Door) -> Iterator[str]:
    if lines := examples(door):
        yield "\n".join(["```", *lines, "```"]) + "\n"
    own = [action for action in door.options if not _COMMON & {*action.option_strings}]
    own = [action for action in own if not _DJANGO & {*action.option_strings}]
    if own:
        rows = [f"| {_call(action)} | {_meaning(action)} |" for action in own]
        yield "\n".join(["| Option | Meaning |", "|---|---|", *rows]) + "\n"


def _call(action: argparse.Action) -> str:
    value = action.metavar if isinstance(action.metavar, str) else None
    if not action.option_strings:
        return f"`{value or action.dest}`"
    words = ", ".join(action.option_strings)
    if action.nargs == 0:
        return f"`{words}`"
    return f"`{words} {value or action.dest.upper()}`"


def _meaning(action: argparse.Action) -> str:
    said = (action.help or "").replace("|", "\\|").replace("%%", "%")
    if action.choices is not None and action.metavar is None:
        words = ", ".join(f"`{choice}`" for choice in action.choices)
        said = f"{said}: {words}" if said else words
    return f"{said} (required)" if action.option_strings and action.required else said


def _prose(text: str) -> str:
    return " ".join(text.split("Example:")[0].split())


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


if __name__ == "__main__":
    import sys

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings_test")
    django.setup()
    sys.stdout.write(page())
