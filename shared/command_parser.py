"""How operators' commands read their words: verbs, common options, help with examples, typos.

``shared.commands`` builds on it. The error for a wrong word suggests the nearest right one; the
text of ``--help`` ends with examples that can be pasted.
"""

from __future__ import annotations

import re
from argparse import SUPPRESS, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

from django.core.management.base import CommandParser, DjangoHelpFormatter

if TYPE_CHECKING:
    from shared.commands import PunctualCommand

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")
_UNKNOWN = re.compile(r"unrecognized arguments: (.*)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


class HelpFormatter(RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """Keeps the lines of a description and its examples as they were written."""


def no_options(parser: CommandParser) -> None:
    """Add nothing; for a verb that has common options alone."""


@dataclass(frozen=True, slots=True)
class Verb:
    """One thing that a command does.

    ``examples`` are lines without ``manage.py``; ``run`` gets the command and its options.
    ``dangerous`` verbs ask first and take ``--yes``. ``stream`` verbs take ``--jsonl``, too.
    """

    name: str
    help: str
    examples: tuple[str, ...]
    run: Callable[[PunctualCommand, Mapping[str, Any]], None]
    add_options: Callable[[CommandParser], None] = no_options
    dangerous: bool = False
    stream: bool = False


def add_verbs(parser: CommandParser, verbs: Iterable[Verb]) -> None:
    """Add each verb with its options, the common ones and its examples."""
    adder = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    made = []
    for verb in verbs:
        sub = adder.add_parser(
            verb.name,
            help=verb.help,
            description=f"{verb.help[:1].upper()}{verb.help[1:]}.",
            epilog=examples_text(verb.examples),
            formatter_class=HelpFormatter,
        )
        verb.add_options(sub)
        add_common_options(sub, yes=verb.dangerous, stream=verb.stream)
        suggest_on_error(sub, [sub])
        made.append(sub)
    suggest_on_error(parser, made)


def add_common_options(parser: CommandParser, *, yes: bool = False, stream: bool = False) -> None:
    """Add the options that every verb takes: ``--json``, ``--quiet``, ``--no-color`` and so on."""
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    if stream:
        parser.add_argument("--jsonl", action="store_true", help="print one JSON object per line")
    if yes:
        parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--quiet", action="store_true", help="no hints, no progress")
    if parser.get_default("no_color") is None:
        # When absent, the verb's default must not undo an option before the verb.
        parser.add_argument("--no-color", action="store_true", default=SUPPRESS, help="no colours")


def examples_text(examples: Iterable[str]) -> str:
    """Return the end of a help text."""
    return "\n".join(["examples:", *(f"  manage.py {example}" for example in examples)])


def suggest_on_error(parser: CommandParser, others: Iterable[CommandParser]) -> None:
    """Make the parser's errors suggest the nearest word that the others know."""
    complain = parser.error

    def error(message: str) -> NoReturn:
        known = (word for other in others for word in _OPTION.findall(other.format_help()))
        complain(message + meant(message, known))
        raise SystemExit(2)

    parser.error = error  # type: ignore[method-assign]  # Django fixes the class of the parser


def meant(complaint: str, options: Iterable[str]) -> str:
    """Return ``. Did you mean …?`` for an error of argparse, or ''."""
    if found := _CHOICE.search(complaint):
        wrong, right = found[1], [word.strip("' ") for word in found[2].split(",")]
    elif found := _UNKNOWN.search(complaint):
        first = found[1].split()[0]
        wrong, right = first.partition("=")[0], sorted(set(options))
    else:
        return ""
    near = get_close_matches(wrong, right, n=1) or get_close_matches(wrong.upper(), right, n=1)
    # Another verb may have just that option.
    return f". Did you mean {near[0]}?" if near and near[0] != wrong else ""
