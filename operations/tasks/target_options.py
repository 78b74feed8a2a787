"""The options of ``tasks create`` and ``edit`` for the target and its retries.

Secrets are never on the command line, where other users of the machine could see them and shells
would keep them: they come from a file, standard input or a variable of the environment.
"""

from __future__ import annotations

import os
from argparse import BooleanOptionalAction
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from django.core.management.base import CommandParser

from operations.files import parse_json, read_json
from shared.commands import wrong_use
from shared.durations import DurationError, parse_duration
from tasks.choices import METHODS, TARGET_KINDS

Place = tuple[str, ...]

#: Option -> place in the long form, for options whose text is the value.
PLAIN: Mapping[str, Place] = {
    "kind": ("target", "kind"),
    "url": ("target", "url"),
    "method": ("target", "method"),
    "timeout": ("target", "timeout_seconds"),
    "pool": ("target", "pool"),
    "handler": ("target", "handler"),
    "program": ("target", "command"),
    "argument": ("target", "arguments"),
    "template": ("target", "template"),
    "follow_redirects": ("target", "follow_redirects"),
    "max_attempts": ("retry_policy", "max_attempts"),
    "stop_on": ("retry_policy", "stop_on"),
    "stop_header": ("retry_policy", "stop_header"),
}
#: Place in the long form -> option, where that is not the name above.
POINTERS: Mapping[str, str] = {
    "#/target/command": "--command",
    "#/target/completion": "--callback",
    "#/target/auth": "--auth-file",
    "#/target/environment": "--environment-file",
    "#/retry_policy/max_age_seconds": "--max-age",
}
_COMPLETION = {True: "callback", False: "response"}


def add_options(parser: CommandParser) -> None:
    """Add the options."""
    parser.add_argument("--kind", choices=TARGET_KINDS, help="what kind of target (webhook)")
    parser.add_argument("--url", help="webhook to call")
    parser.add_argument("--method", choices=METHODS, help="(POST)")
    parser.add_argument("--pool", metavar="POOL", help="pool of workers that runs it")
    parser.add_argument("--handler", metavar="NAME", help="handler that a worker runs")
    parser.add_argument(
        "--command", dest="program", metavar="NAME", help="command that the deployment allows"
    )
    parser.add_argument(
        "--argument", action="append", metavar="TEXT", help="argument of the command; repeatable"
    )
    parser.add_argument(
        "--environment-file", metavar="FILE", help="JSON of the command's variables; - is stdin"
    )
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="of one attempt")
    _add_webhook_options(parser)
    _add_retry_options(parser)


def _add_webhook_options(parser: CommandParser) -> None:
    secret = parser.add_mutually_exclusive_group()
    secret.add_argument(
        "--auth-file", metavar="FILE", help="JSON of the authentication; - is stdin"
    )
    secret.add_argument(
        "--auth-env", metavar="VARIABLE", help="variable that holds JSON of the authentication"
    )
    parser.add_argument(
        "--template",
        action=BooleanOptionalAction,
        default=None,
        help="URL, headers and payload hold templates such as {{ scheduled_for }}",
    )
    parser.add_argument(
        "--follow-redirects", action=BooleanOptionalAction, default=None, help="(no)"
    )
    parser.add_argument(
        "--callback",
        action=BooleanOptionalAction,
        default=None,
        help="the receiver answers 202 and ends the execution later",
    )


def _add_retry_options(parser: CommandParser) -> None:
    parser.add_argument("--max-attempts", type=int, metavar="N", help="the first one included")
    parser.add_argument(
        "--stop-on", action="append", metavar="STATUS", help="never retried: 404, 4xx; repeatable"
    )
    parser.add_argument(
        "--stop-header", metavar="NAME", help="header of the answer that forbids a retry"
    )
    parser.add_argument(
        "--max-age", metavar="DURATION", help="no retry begins later after the nominal time"
    )


def readers(options: Mapping[str, Any]) -> Iterator[Callable[[], tuple[Place, Any]]]:
    """Yield, for each given option, a function that returns its place and value.

    The function raises InvalidInput for a text that cannot be read.
    """
    for name, place in PLAIN.items():
        if options[name] is not None:
            yield partial(at, place, options[name])
    if options["callback"] is not None:
        yield partial(at, ("target", "completion"), _COMPLETION[options["callback"]])
    if options["max_age"] is not None:
        yield lambda: (("retry_policy", "max_age_seconds"), _seconds(options["max_age"]))
    if options["auth_file"] is not None:
        yield partial(_from_file, options["auth_file"], "--auth-file", "auth")
    if options["auth_env"] is not None:
        yield lambda: (("target", "auth"), _variable(options["auth_env"]))
    if options["environment_file"] is not None:
        yield partial(_from_file, options["environment_file"], "--environment-file", "environment")


def at(place: Place, value: Any) -> tuple[Place, Any]:
    """Return place and value as they are."""
    return place, value


def _from_file(name: str, option: str, part: str) -> tuple[Place, Any]:
    return ("target", part), read_json(name, option, f"#/target/{part}")


def _variable(name: str) -> Any:
    text = os.environ.get(name)
    if text is None:
        raise wrong_use("--auth-env", f"there is no variable {name!r}.")
    return parse_json(text.encode("utf-8", "surrogateescape"), "--auth-env", "#/target/auth")


def _seconds(text: str) -> float:
    try:
        return parse_duration(text).total_seconds()
    except DurationError as error:
        raise wrong_use("--max-age", str(error)) from error
