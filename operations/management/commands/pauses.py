"""``manage.py pauses``: standing pauses over a label, pool, destination or a whole tenant."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.changes.pauses import Wanted, create_pause, end_pause, reach_of
from insight.presentation.pauses import present_pause, present_pauses, present_reach
from operations.finding import ID_TAIL, find_row, moment_option
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table, with_former_names, wrong_use
from tasks.choices import SUSPENSION, OnResume, PauseScope
from tasks.models import Pause
from tasks.standing_pauses import describe
from tenants.services import get_tenant

_NOTE_LENGTH = 1000
_VALUE_WIDTH = 30


def _list(command: Any, options: Mapping[str, Any]) -> None:
    found = Pause.objects.exclude(scope=SUSPENSION).order_by("-created_at", "-id")
    if options["tenant"] is not None:
        found = found.filter(tenant=get_tenant(options["tenant"]))
    if not options["all"]:
        found = found.open()
    pauses = list(found[: max(0, options["limit"])])
    documents = [
        _with_tenant(document, pause)
        for document, pause in zip(present_pauses(pauses), pauses, strict=True)
    ]
    lines = _list_lines(documents, command.paint, wide=options["wide"])
    command.emit(options, {"pauses": documents}, lines)


def _create(command: Any, options: Mapping[str, Any]) -> None:
    if len(options["note"]) > _NOTE_LENGTH:
        raise wrong_use("--note", f"at most {_NOTE_LENGTH} characters")
    tenant = chosen_tenant(options["tenant"])
    wanted = Wanted(
        scope=options["scope"],
        value=options["value"],
        until=moment_option("--until", options["until"], ahead=True),
        note=options["note"],
        on_resume=options["on_resume"],
    )
    reach = reach_of(tenant.id, wanted)
    what = shown(describe(wanted.scope, reach.value))
    document = {
        "dry_run": options["dry_run"],
        "tenant_id": str(tenant.id),
        "reach": present_reach(wanted.scope, reach),
    }
    if options["dry_run"]:
        lines = [f"would pause {_tasks(reach.task_count)} of {what}"]
        command.emit(options, {**document, "pause": None}, lines)
        return
    command.confirm(options, f"Pause {_tasks(reach.task_count)} of {what}, and later ones?")
    with transaction.atomic(durable=True):
        pause, count = create_pause(tenant.id, wanted, actor=COMMAND)
    lines = [f"paused {_tasks(count)} of {what}: pause {pause.id}"]
    command.emit(options, {**document, "pause": present_pause(pause, count)}, lines)


def _end(command: Any, options: Mapping[str, Any]) -> None:
    pause: Pause = find_row(Pause.objects.exclude(scope=SUSPENSION), options["id"], "pause")
    what = shown(describe(pause.scope, pause.value))
    command.confirm(options, f"End the pause of {what}? Its tasks resume ({pause.on_resume}).")
    with transaction.atomic(durable=True):
        pause, count = end_pause(pause.tenant_id, pause.id, actor=COMMAND)
    document = _with_tenant(present_pause(pause, count), pause)
    command.emit(options, document, [f"ended the pause of {what}; it held {_tasks(count)}"])


def _add_list_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--all", action="store_true", help="ended ones, too")
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")
    parser.add_argument("--wide", action="store_true", help="full ids and values")


def _add_create_options(parser: CommandParser) -> None:
    parser.add_argument("scope", choices=PauseScope.values, help="what it covers")
    parser.add_argument(
        "value", nargs="?", default="", help="key:value or key, pool, or host; none for the tenant"
    )
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")
    with_former_names(
        parser.add_argument("--note", "--reason", default="", help="why; shown on every task")
    )
    parser.add_argument(
        "--until", metavar="TIME", help="end by itself: 2h, monday 9:00, or RFC 3339"
    )
    parser.add_argument(
        "--on-resume",
        choices=OnResume.values,
        default=OnResume.SKIP.value,
        help="what becomes of the instants that fall into the pause (skip)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only count, change nothing")


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", help="the id, or its end as the list shows it")


class Command(VerbCommand):
    """List, create and end standing pauses."""

    help = "Standing pauses: hold all tasks of a label, pool, destination or tenant."
    verbs = (
        Verb(
            "list",
            "list open pauses, newest first",
            ("pauses list --all",),
            _list,
            _add_list_options,
        ),
        Verb(
            "create",
            "pause all tasks that it covers, and those that it covers later",
            (
                'pauses create destination api.example.com --until 2h --note "INC-42"',
                "pauses create label team:billing --on-resume run_once --dry-run",
                "pauses create tenant --yes",
            ),
            _create,
            _add_create_options,
            dangerous=True,
        ),
        Verb(
            "end",
            "end a pause; its tasks resume",
            ("pauses end 1f2e3d4c5b6a --yes",),
            _end,
            _add_id,
            dangerous=True,
        ),
    )


def _with_tenant(document: dict[str, Any], pause: Pause) -> dict[str, Any]:
    return {**document, "tenant_id": str(pause.tenant_id)}


def _tasks(count: int) -> str:
    return f"{count} task{'' if count == 1 else 's'}"


def _list_lines(
    documents: list[dict[str, Any]], paint: Callable[[str], str], *, wide: bool
) -> Iterator[str]:
    rows = [
        (
            one["id"] if wide else one["id"][-ID_TAIL:],
            one["created_at"][:16].replace("T", " "),
            _covers(one) if wide else shown(_covers(one), _VALUE_WIDTH),
            one["task_count"],
            "ended" if one["ended_at"] else (one["until"] or "-")[:16].replace("T", " "),
        )
        for one in documents
    ]
    yield from table(("id", "since (UTC)", "covers", "tasks", "until (UTC)"), rows, paint)


def _covers(document: Mapping[str, Any]) -> str:
    return f"{document['scope']} {document['value']}".strip()
