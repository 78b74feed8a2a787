"""``manage.py tasks pause``, ``resume``, ``cancel`` and ``delete``: of one task or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import CommandParser

from executions.changes import changing
from executions.loop.clocks import database_now
from operations import many
from operations.finding import find_task, moment_option
from shared.actor import COMMAND
from shared.commands import PunctualCommand, with_former_names, wrong_use
from tasks.models import Task
from tasks.transitions import Pause

_ON_RESUME = ("skip", "run_once", "replay")
_NOTE_LENGTH = 1000

Act = Callable[[Task], dict[str, Any]]


def add_ids(parser: CommandParser) -> None:
    """Add the options that choose the tasks of a change."""
    parser.add_argument(
        "ids", metavar="ID", nargs="+", help="ids, or their ends as the list shows them"
    )
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--dry-run", action="store_true", help="show which, change nothing")


def add_pause_options(parser: CommandParser) -> None:
    """Add the options of ``pause``."""
    add_ids(parser)
    with_former_names(
        parser.add_argument("--note", "--reason", default="", help="why; shown with the task")
    )
    parser.add_argument(
        "--until", metavar="TIME", help="resume by itself: 2h, monday 9:00, or RFC 3339"
    )
    parser.add_argument(
        "--on-resume",
        choices=_ON_RESUME,
        default="skip",
        help="what becomes of the instants that fall into the pause (skip)",
    )


def add_delete_options(parser: CommandParser) -> None:
    """Add the options of ``delete``."""
    add_ids(parser)
    parser.add_argument(
        "--cancel-running", action="store_true", help="also abort running executions"
    )


def pause(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Pause tasks."""
    until = moment_option("--until", options["until"], ahead=True)
    if until is not None and until <= database_now():
        raise wrong_use("--until", "a pause cannot end in the past")
    if len(options["note"]) > _NOTE_LENGTH:
        raise wrong_use("--note", f"at most {_NOTE_LENGTH} characters")
    how = Pause(until, options["note"], options["on_resume"])

    def act(task: Task) -> dict[str, Any]:
        return _facts(changing.pause_task(task.tenant_id, task.id, how, actor=COMMAND))

    _change(command, options, act, "paused")


def resume(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Resume tasks."""

    def act(task: Task) -> dict[str, Any]:
        return _facts(changing.resume_task(task.tenant_id, task.id, actor=COMMAND))

    _change(command, options, act, "resumed")


def cancel(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Cancel tasks: no further runs, waiting executions are cancelled, running ones continue."""

    def act(task: Task) -> dict[str, Any]:
        return _facts(changing.cancel_task(task.tenant_id, task.id, actor=COMMAND))

    question = "Cancel {}? It never fires again."
    _change(command, options, act, "cancelled", question)


def delete(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Delete tasks; their executions stay readable."""

    def act(task: Task) -> dict[str, Any]:
        changing.delete_task(
            task.tenant_id, task.id, actor=COMMAND, cancel_running=options["cancel_running"]
        )
        return {"name": task.name, "status": "DELETED"}

    _change(command, options, act, "deleted", "Delete {}? That cannot be undone.")


def _change(
    command: PunctualCommand,
    options: Mapping[str, Any],
    act: Act,
    done: str,
    question: str = "",
) -> None:
    outcomes = many.resolve(options["ids"], lambda word: find_task(word, options["tenant"]))
    for outcome in outcomes:
        if outcome.row is not None:
            outcome.facts = _facts(outcome.row)
    if options["dry_run"]:
        done = f"would be {done}"
    else:
        found = [outcome.row for outcome in outcomes if outcome.row is not None]
        if question and found:
            what = repr(found[0].name) if len(found) == 1 else f"these {len(found)} tasks"
            command.confirm(options, question.format(what))
        many.perform(command, outcomes, done, act)
    many.report(command, options, outcomes, done, lambda task: task.name)


def _facts(task: Task) -> dict[str, Any]:
    return {"name": task.name, "status": str(task.status)}
