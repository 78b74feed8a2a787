"""``manage.py workers quiet``, ``drain`` and ``resume``: what the workers shall do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.changes.worker_wishes import Action, Choice, Wished, wish
from operations.worker_reading import live_worker
from shared.actor import COMMAND
from shared.commands import PunctualCommand, shown, wrong_use

_SAID = {
    Action.QUIET: "takes no new work and finishes what it runs",
    Action.DRAIN: "takes no new work, and ends when it is empty",
    Action.RESUME: "takes work again",
}


def add_options(parser: CommandParser) -> None:
    """Add the ways to name workers."""
    parser.add_argument("id", nargs="?", help="the worker's id, or its end as lists show it")
    parser.add_argument("--pool", help="all live workers of this pool")
    parser.add_argument("--host", help="all live workers of this host")


def make_quiet(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Make workers quiet."""
    _change(command, options, Action.QUIET)


def drain(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Drain workers, after a question."""
    choice = _choice(options)
    what = choice.worker or (f"all workers of pool {choice.pool}" if choice.pool else "")
    what = shown(what or f"all workers of host {choice.host}")
    command.confirm(options, f"Drain {what}? They end when they are empty.")
    _change(command, options, Action.DRAIN)


def resume(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Let workers take work again."""
    _change(command, options, Action.RESUME)


def _choice(options: Mapping[str, Any]) -> Choice:
    given, pool, host = options["id"], options["pool"], options["host"]
    if sum(bool(one) for one in (given, pool, host)) != 1:
        raise wrong_use("id", "give one of these: a worker's id, --pool or --host")
    found = live_worker(given) if given else None
    return Choice(found.id if found else given, pool, host)


def _change(command: PunctualCommand, options: Mapping[str, Any], action: Action) -> None:
    choice = _choice(options)
    with transaction.atomic(durable=True):
        done = wish(action, choice, actor=COMMAND)
    document = {"action": action.value, "changed": done.changed, "unchanged": done.unchanged}
    command.emit(options, document, _lines(done, action))
    if done.changed and action != Action.RESUME:
        command.note("It settles within seconds. `workers list` shows what still runs.")


def _lines(done: Wished, action: Action) -> Iterator[str]:
    for worker in done.changed:
        yield f"{shown(worker)}: {_SAID[action]}"
    for worker in done.unchanged:
        yield f"{shown(worker)}: nothing to change"
