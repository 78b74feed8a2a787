"""``manage.py demo``: a tenant to play with, and the test receiver that its tasks call.

Exit codes: 0 done or there already; 1 the receiver does not answer; 3 there is no demo tenant;
4 a tenant of that name is somebody's own.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from scheduler_site import demo, local_state
from shared.command_parser import Verb
from shared.commands import FAILED, VerbCommand, wrong_use
from shared.exceptions import NotFound

_SECONDS = 3.0


def _seed(command: Any, options: Mapping[str, Any]) -> None:
    found = demo.seed(_receiver(options))
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
    url = _receiver(options)
    connections, requests = _ask(url, "/healthz"), _ask(url, "/requests?limit=1")
    answers = connections is not None
    document = {"receiver_url": url, "answers": answers, "last_request": _last(requests)}
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


def _receiver(options: Mapping[str, Any]) -> str:
    given: str | None = options["receiver"]
    url = given or local_state.load_runtime(local_state.data_dir()).get("receiver_url")
    if not url:
        raise NotFound("No test receiver is known. Start `manage.py up`, or give --receiver.")
    if urlsplit(url).scheme not in ("http", "https"):
        raise wrong_use("--receiver", "give a URL such as http://127.0.0.1:8001/.")
    return str(url)


def _ask(url: str, path: str) -> Any:
    """Return what the receiver answers, None when it does not."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return json.loads(answer.read()) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()


def _last(found: Any) -> Any:
    listed = (found or {}).get("requests") or []
    # What it carried is the tasks' business.
    return {key: listed[0][key] for key in ("method", "path", "received_at")} if listed else None


def _add_receiver(parser: Any) -> None:
    parser.add_argument(
        "--receiver", metavar="URL", help="test receiver to call (that of `manage.py up`)"
    )


class Command(VerbCommand):
    """Make, show and remove what there is to play with."""

    help = "A tenant to play with: tasks that show what Punctual does, failures to mend."
    verbs = (
        Verb(
            "seed",
            "make the demo tenant, with a made-up last day",
            ("demo seed", "demo seed --receiver http://127.0.0.1:8001/"),
            _seed,
            _add_receiver,
        ),
        Verb(
            "sink",
            "say whether the test receiver answers, and what it got last",
            ("demo sink",),
            _sink,
            _add_receiver,
        ),
        Verb(
            "reset",
            "remove the demo tenant with all it has",
            ("demo reset --yes",),
            _reset,
            dangerous=True,
        ),
    )
