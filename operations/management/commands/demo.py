"""``manage.py demo``: a tenant to play with, and the test receiver that its tasks call.

Exit codes: 0 done or there already; 1 the receiver does not answer, or a break lost or doubled
something; 3 there is no demo tenant, no receiver runs, or `up` runs without the demo; 4 a tenant of
that name has another origin, or a break is under way; 5 `up` does not answer; 6 a break whose count
is incomplete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from executions.demo import breaks
from executions.triggering.receiver_requests import received, required_address_of
from insight.demo_break import Report
from insight.presentation.demo_break import present_report
from operations import demo, demo_breaks
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import FAILED, PARTIAL, VerbCommand, wrong_use
from shared.exceptions import Unavailable

_SHOWN = ("method", "path", "received_at")


def _seed(command: Any, options: Mapping[str, Any]) -> None:
    found = demo.seed(_given_receiver(options))
    document = _document(found)
    said = "made" if found.made else "is there already"
    lines = [
        f"The tenant {demo.NAME} {said}: {found.tasks} tasks, {found.dead_letters} dead letters",
    ]
    command.emit(options, document, lines)
    if found.made:
        command.note(
            f"{found.history} executions of the last day are made up (reason demo_history). "
            "Watch with `manage.py tasks list --tenant demo`, retry with `manage.py dlq groups "
            "--tenant demo`, remove all of it with `manage.py demo reset`."
        )


def _sink(command: Any, options: Mapping[str, Any]) -> None:
    tenant = demo.find()
    url = required_address_of(tenant.id)
    last = None
    try:
        listed = received(tenant.id, {"limit": 1})["requests"]
        # Without headers and body, which belong to the tasks.
        last = {key: listed[0][key] for key in _SHOWN} if listed else None
        answers = True
    except Unavailable:
        answers = False
    document = {"receiver_url": url, "answers": answers, "last_request": last}
    command.emit(options, document, [f"{url} {'answers' if answers else 'does not answer'}"])
    if not answers:
        command.leave(FAILED)
    command.note(f"{url} lists what it can do: /ok, /slow?ms=, /flaky?fail=, /500, /timeout …")


def _break(command: Any, options: Mapping[str, Any]) -> None:
    tenant = demo.find()
    kind = breaks.Kind(options["kind"])
    with transaction.atomic(durable=True):
        breaks.begin(tenant.id, kind, actor=COMMAND)
    if options["detach"]:
        command.note("It ends by itself; `manage.py demo report` shows how it is.")
        _show(command, options, demo_breaks.current(tenant.id))
    else:
        found = demo_breaks.follow(tenant.id, command.note)
        _show(command, options, found)
        _judge(command, found)


def _report(command: Any, options: Mapping[str, Any]) -> None:
    found = demo_breaks.current(demo.find().id)
    _show(command, options, found)
    if found.phase == "over":
        _judge(command, found)


def _show(command: Any, options: Mapping[str, Any], found: Report) -> None:
    command.emit(options, present_report(found), demo_breaks.lines(found))


def _judge(command: Any, found: Report) -> None:
    """Exit as the break ended."""
    if not found.kept:
        command.leave(PARTIAL if found.kept is None else FAILED)


def _reset(command: Any, options: Mapping[str, Any]) -> None:
    found = demo.describe()
    command.confirm(
        options,
        f"Remove the tenant {demo.NAME} with {found.tasks} tasks, their executions and "
        f"{found.dead_letters} dead letters?",
    )
    found = demo.reset()
    command.emit(options, _document(found), [f"The tenant {demo.NAME} is gone."])


def _document(found: demo.Seeded) -> dict[str, Any]:
    return {
        "tenant_id": str(found.tenant_id),
        "tenant": demo.NAME,
        "made": found.made,
        "tasks": found.tasks,
        "history": found.history,
        "dead_letters": found.dead_letters,
    }


def _given_receiver(options: Mapping[str, Any]) -> str | None:
    url: str | None = options["receiver"]
    if url is not None and urlsplit(url).scheme not in ("http", "https"):
        raise wrong_use("--receiver", "give a URL such as http://127.0.0.1:9000/.")
    return url


def _add_receiver(parser: Any) -> None:
    parser.add_argument(
        "--receiver", metavar="URL", help="another test receiver to call than that of `up`"
    )


def _add_kind(parser: Any) -> None:
    parser.add_argument("kind", choices=[kind.value for kind in breaks.Kind], help="what to break")
    parser.add_argument("--detach", action="store_true", help="do not wait for its end")


class Command(VerbCommand):
    """Make, break, show and remove the demo tenant."""

    help = "A tenant to play with: tasks that show what Punctual does, failures to mend."
    verbs = (
        Verb(
            "seed",
            "make the demo tenant, with a made-up last day",
            ("demo seed", "demo seed --receiver http://127.0.0.1:9000/"),
            _seed,
            _add_receiver,
        ),
        Verb(
            "sink",
            "show whether the test receiver answers, and the demo tenant's last request",
            ("demo sink",),
            _sink,
        ),
        Verb(
            "break",
            "make a fault that ends by itself, and count what it does (needs DEMO=true)",
            ("demo break worker", "demo break receiver-fails --detach"),
            _break,
            _add_kind,
        ),
        Verb(
            "report",
            "show the last break: what happened, and what was counted",
            ("demo report", "demo report --json"),
            _report,
        ),
        Verb(
            "reset",
            "remove the demo tenant with all it has",
            ("demo reset --yes",),
            _reset,
            dangerous=True,
        ),
    )
