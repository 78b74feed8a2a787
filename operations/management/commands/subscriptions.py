"""``manage.py subscriptions``: event webhooks, the programs that are called for each event.

A URL is read from standard input or a file, never from the command line, which every account of
the machine can read. Exit codes: 1 the receiver did not take a test event; 3 no such subscription.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, cast
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction

from events.feed_types import TYPES
from notifications.choices import SubscriptionStatus
from notifications.event_webhooks.trial import send_test_event
from notifications.models import EventSubscription
from notifications.services import event_subscriptions as services
from operations.files import read_url
from operations.finding import find_row, moment_option
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import FAILED, PunctualCommand, VerbCommand, shown, shown_id, table, wrong_use
from shared.instants import format_instant
from tasks.field_reader import text_problem
from tasks.limits import URL_LENGTH

_COLUMNS = ("id", "receiver", "state", "types", "unsent since", "last error")
_FACTS = (
    *("id", "origin", "status", "paused_reason", "after", "waiting_since", "failing_since"),
    *("attempt_count", "next_attempt_at", "answered_at", "last_status", "last_error", "version"),
)
_ID_WIDTH = 12


def _list(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    rows = services.list_subscriptions(tenant.id).order_by("-created_at", "id")
    found = [_document(row) for row in rows]
    lines = table(_COLUMNS, map(_row, found))
    command.emit(options, {"event_subscriptions": found, "total": len(found)}, lines)


def _show(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    _emit(command, options, _found(options))


def _create(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    tenant = chosen_tenant(options["tenant"])
    body = {"url": _url(options), **_asked(options)}
    with transaction.atomic(durable=True):
        made = services.create_subscription(tenant.id, **body, actor=COMMAND)
    _emit(command, options, made)


def _change(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    given = _asked(options)
    if options["new_url"]:
        given["url"] = _url(options)
    if not given:
        raise wrong_use("--type", "say what to change: --type, --label, --task or --new-url")
    _set(command, options, given)


def _pause(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    _set(command, options, {"status": SubscriptionStatus.PAUSED})


def _resume(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    _set(command, options, {"status": SubscriptionStatus.ACTIVE})


def _set(command: PunctualCommand, options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    row = _found(options)
    with transaction.atomic(durable=True):
        changed = services.change_subscription(row.tenant_id, row.pk, given, actor=COMMAND)
    _emit(command, options, changed)


def _test(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    row = _found(options)
    trial = send_test_event(row.tenant_id, row.pk, actor=COMMAND, limited=False)
    document = {
        "id": str(row.pk),
        "taken": trial.taken,
        "status": trial.status,
        "error": trial.error or None,
    }
    if not trial.taken:
        command.emit(options, document, [f"not taken: {shown(trial.error, 300)}"])
        command.leave(FAILED)
    command.emit(options, document, [f"taken; the answer was HTTP {trial.status}"])


def _redrive(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    since = moment_option("--since", options["since"])
    if (since is None) == (options["cursor"] is None):
        raise wrong_use("--since", "give either --since or --cursor")
    row = _found(options)
    question = f"Send events to {shown(row.origin)} again, those from then on?"
    command.confirm(options, question)
    with transaction.atomic(durable=True):
        moved = services.redrive_subscription(
            row.tenant_id, row.pk, after=options["cursor"], since=since, actor=COMMAND
        )
    _emit(command, options, moved)


def _remove(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    row = _found(options)
    command.confirm(options, f"Remove the event webhook to {shown(row.origin)}?")
    with transaction.atomic(durable=True):
        services.remove_subscription(row.tenant_id, row.pk, actor=COMMAND)
    lines = [f"removed the event webhook to {shown(row.origin)}"]
    command.emit(options, {"removed": str(row.pk)}, lines)


def _found(options: Mapping[str, Any]) -> EventSubscription:
    tenant = chosen_tenant(options["tenant"])
    rows = services.list_subscriptions(tenant.id)
    return cast(EventSubscription, find_row(rows, options["id"], "event subscription"))


def _asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return types and filter as the body of the call has them; options left out are not in it."""
    body: dict[str, Any] = {}
    if options["type"] is not None:
        body["types"] = options["type"]
    if options["label"] is not None or options["task"] is not None:
        tasks = sorted({str(one) for one in options["task"] or ()})
        if len(tasks) > services.MOST_TASKS:
            raise wrong_use("--task", f"give at most {services.MOST_TASKS}")
        chosen = {"labels": _labels(options["label"]), "task_ids": tasks}
        body["filter"] = {name: value for name, value in chosen.items() if value}
    return body


def _labels(given: list[str] | None) -> dict[str, str]:
    found = {}
    for text in given or ():
        name, colon, value = text.partition(":")
        if not colon:
            raise wrong_use("--label", f"{shown(text, 40)!r} is no label; write name:value")
        for part in (name, value) if value else (name,):
            if problem := text_problem(part, longest=services.LABEL_LENGTH):
                raise wrong_use("--label", problem[1])
        if name in found:
            raise wrong_use("--label", f"{shown(name, 40)!r} is given twice; a task has one value")
        found[name] = value
    if len(found) > services.MOST_LABELS:
        raise wrong_use("--label", f"give at most {services.MOST_LABELS}")
    return found


def _url(options: Mapping[str, Any]) -> str:
    url = read_url(options["file"], URL_LENGTH)
    if problem := text_problem(url, longest=URL_LENGTH):
        raise wrong_use("--file", f"the URL: {problem[1]}")
    return url


def _document(row: EventSubscription) -> dict[str, Any]:
    found = services.present_subscription(row)
    return {name: _plain(value) for name, value in found.items()} | {"id": str(row.pk)}


def _plain(value: Any) -> Any:
    return format_instant(value) if isinstance(value, datetime) else value


def _emit(command: PunctualCommand, options: Mapping[str, Any], row: EventSubscription) -> None:
    document = _document(row)
    command.emit(options, document, _lines(document))


def _row(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        shown_id(one["id"], _ID_WIDTH),
        shown(one["origin"], 40),
        one["paused_reason"] or ("failing" if one["failing_since"] else one["status"].lower()),
        len(one["types"]),
        one["waiting_since"] or "-",
        shown(one["last_error"] or "-", 60),
    )


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    for name in _FACTS:
        value = document[name]
        yield f"{name.replace('_', ' '):<16} {shown(str(value)) if value is not None else '-'}"
    yield f"{'types':<16} {', '.join(document['types'])}"
    for name, value in document["filter"].get("labels", {}).items():
        yield f"{'of label':<16} {shown(f'{name}:{value}')}"
    for task_id in document["filter"].get("task_ids", ()):
        yield f"{'of task':<16} {task_id}"


def _add_tenant(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; may be left out where there is only one")


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", help="the subscription's id, or its end as lists show it")
    _add_tenant(parser)


def _add_asked(parser: CommandParser, *, types_needed: bool) -> None:
    parser.add_argument(
        "--type",
        nargs="+",
        choices=TYPES,
        metavar="TYPE",
        required=types_needed,
        help="the types of events, such as execution.failed",
    )
    parser.add_argument(
        "--label", nargs="*", metavar="KEY:VALUE", help="only events of tasks with these labels"
    )
    parser.add_argument(
        "--task", nargs="*", type=UUID, metavar="ID", help="only events of these tasks"
    )
    parser.add_argument(
        "--file", metavar="FILE", help="the file with the URL, in place of standard input"
    )


def _add_create_options(parser: CommandParser) -> None:
    _add_tenant(parser)
    _add_asked(parser, types_needed=True)


def _add_change_options(parser: CommandParser) -> None:
    _add_id(parser)
    parser.add_argument(
        "--new-url", action="store_true", help="replace the URL; reads it as create does"
    )
    _add_asked(parser, types_needed=False)


def _add_redrive_options(parser: CommandParser) -> None:
    _add_id(parser)
    parser.add_argument("--since", metavar="TIME", help="from then on: 2h ago, or RFC 3339")
    parser.add_argument("--cursor", help="the events after this one")


class Command(VerbCommand):
    """List, show, create, change, test, pause, resume, redrive and remove event webhooks."""

    help = "Event webhooks: programs that are called for each event of a tenant."
    verbs: ClassVar[tuple[Verb, ...]] = (
        Verb(
            "list",
            "list event webhooks, newest first",
            ("subscriptions list",),
            _list,
            _add_tenant,
        ),
        Verb("show", "show one", ("subscriptions show 9f3c2a7b1d20",), _show, _add_id),
        Verb(
            "create",
            "add an event webhook; reads its URL from standard input",
            ("subscriptions create --type execution.failed task.changed < url.txt",),
            _create,
            _add_create_options,
        ),
        Verb(
            "change",
            "change its types, its filter or its URL",
            ("subscriptions change 9f3c2a7b1d20 --type execution.failed --label team:billing",),
            _change,
            _add_change_options,
        ),
        Verb(
            "test",
            "send a test event now and print the answer",
            ("subscriptions test 9f3c2a7b1d20",),
            _test,
            _add_id,
        ),
        Verb(
            "pause",
            "stop sending; it keeps its place",
            ("subscriptions pause 9f3c2a7b1d20",),
            _pause,
            _add_id,
        ),
        Verb(
            "resume",
            "send again, from where it was",
            ("subscriptions resume 9f3c2a7b1d20",),
            _resume,
            _add_id,
        ),
        Verb(
            "redrive",
            "send the events from a time or cursor on again",
            ("subscriptions redrive 9f3c2a7b1d20 --since 2h",),
            _redrive,
            _add_redrive_options,
            dangerous=True,
        ),
        Verb(
            "remove",
            "remove an event webhook; its place is forgotten",
            ("subscriptions remove 9f3c2a7b1d20 --yes",),
            _remove,
            _add_id,
            dangerous=True,
        ),
    )
