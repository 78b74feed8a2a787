"""``manage.py demo``: a tenant to play with, and the test receiver that its tasks call.

Exit codes: 0 done or there already; 1 the receiver does not answer; 3 there is no demo tenant, or
no receiver runs; 4 a tenant of that name has another origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from executions.triggering.receiver_requests import received, required_address_of
from operations import demo
from shared.command_parser import Verb
from shared.commands import FAILED, VerbCommand, wrong_use
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


class Command(VerbCommand):
    """Make, show and remove the demo tenant."""

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
            "reset",
            "remove the demo tenant with all it has",
            ("demo reset --yes",),
            _reset,
            dangerous=True,
        ),
    )
