"""The command line of actions on many rows: filters, how fast, when to stop, how to wait.

Commands that act on many rows read it, and refuse an unusable value before they count anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from operations.files import json_value
from shared.commands import wrong_use

_RATE = re.compile(r"(\d+(?:\.\d+)?)/(s|m|h)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_FILTERS = ("task", "signature", "q", "resolved_as")


def add_letter_filters(parser: CommandParser) -> None:
    """Add the filters that choose dead letters."""
    parser.add_argument("--tenant", help="name or id")
    parser.add_argument("--task", metavar="ID", help="of this task: its id, or the end of it")
    parser.add_argument("--signature", metavar="CAUSE", help="of exactly this cause")
    parser.add_argument("--q", metavar="TEXT", help="with this text in task, error or note")
    parser.add_argument(
        "--resolved-as", metavar="WORD", help="resolved by this word: retried, archived, fixed, …"
    )


def add_action_options(parser: CommandParser, action: str) -> None:
    """Add the options of an action on one or many dead letters."""
    parser.add_argument("ids", nargs="*", metavar="ID", help="ids, or their ends")
    add_letter_filters(parser)
    parser.add_argument("--all", action="store_true", help="every open dead letter of the tenant")
    if action == "retry":
        parser.add_argument(
            "--payload", metavar="JSON|@FILE", help="send this instead; - reads standard input"
        )
        parser.add_argument(
            "--canary", type=int, metavar="N", help="try this many first, then judge them"
        )
        parser.add_argument(
            "--stop-on-failure-rate",
            type=float,
            metavar="SHARE",
            help="stop when a greater share fails: 0.5",
        )
    if action == "resolve":
        parser.add_argument("--resolution", default="fixed", help="a word of your own (fixed)")
    if action in ("resolve", "archive"):
        parser.add_argument("--note", default="", help="why")
    parser.add_argument("--rate", metavar="N/s", help="maximum per s, m or h: 10/s")
    parser.add_argument("--dry-run", action="store_true", help="show the scope, change nothing")
    parser.add_argument("--detach", action="store_true", help="do not wait for the end")
    add_wait(parser)


def add_wait(parser: CommandParser) -> None:
    """Add how long the command waits for a bulk job."""
    parser.add_argument(
        "--wait",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help="wait at most this long (3600)",
    )


def require_one_choice(options: Mapping[str, Any]) -> None:
    """Refuse ids together with filters, nothing at all, and options that cannot be read."""
    filters = [name for name in _FILTERS if options[name]]
    if options["ids"] and (filters or options["all"]):
        raise wrong_use("ids", "give ids or filters, not both.")
    if options["all"] and filters:
        raise wrong_use("--all", "it takes everything; leave the filters out.")
    if not options["ids"] and not filters and not options["all"]:
        raise wrong_use("ids", "say which: ids, --task, --signature, --q, --resolved-as, or --all.")
    job_options(options)


def job_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the bulk job that the command line asks for."""
    found: dict[str, Any] = {}
    if options["rate"] is not None:
        found["rate_per_second"] = read_rate(options["rate"])
    for name in ("canary", "stop_on_failure_rate"):
        if options.get(name) is not None:
            found[name] = options[name]
    for name in ("note", "resolution"):
        if options.get(name):
            found[name] = options[name]
    payload = read_payload(options.get("payload"))
    if payload is not None:
        (found["payload"],) = payload
    return found


def read_rate(text: str) -> float:
    """Return how many per second ``10/s`` or ``600/m`` is."""
    found = _RATE.fullmatch(text)
    if found is None or float(found[1]) <= 0:
        raise wrong_use("--rate", "give a number per s, m or h, like 10/s.")
    return float(found[1]) / _SECONDS[found[2]]


def read_payload(text: str | None) -> tuple[Any] | None:
    """Return the JSON value given, in a tuple because null is a payload; None without one."""
    return None if text is None else (json_value(text, "--payload", "#/payload"),)
