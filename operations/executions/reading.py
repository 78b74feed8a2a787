"""``manage.py executions list`` and ``show``: the same documents as those of the API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django.core.management.base import CommandParser

from executions.bulk.backfill_steps import executions_made_by
from executions.choices import Status
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.querysets import ExecutionQuerySet
from insight.filter_language.conditions import begins, executions_matching
from insight.filter_language.fields import EXECUTIONS
from insight.list_budget import advice_for, read_list
from insight.list_filters import DUE, ENDED, with_bounds
from insight.list_orders import EXECUTION_ORDERS, in_order
from insight.presentation.execution import present_executions
from insight.presentation.execution_detail import present_execution_detail
from operations.finding import (
    ID_TAIL,
    add_list_filter,
    executions_of,
    filter_option,
    find_execution,
    find_task,
    moment_option,
    order_option,
    scope_of,
)
from operations.list_files import add_file_options, print_file, shown_limit
from operations.payload_readings import note_shown
from operations.tenancy import chosen_tenant
from shared.commands import PunctualCommand, shown, table, wrong_use
from shared.duration_words import duration_text
from shared.ids import moment_of
from shared.instants import format_instant

_WINDOW = timedelta(days=1)
# Fixed widths, so that the later lines of `tail -f` align with the first ones.
_STATUS_WIDTH = 9
_NAME_WIDTH = 12
_CAUSE_WIDTH = 9
_DURATION_WIDTH = 6
_BODY_CHARACTERS = 4000
#: The whole call is a part of its attempt; the line of the attempt has the attempt's duration.
_PHASE_WORDS = {"first_byte_ms": "first byte after", "total_ms": "whole call"}


def add_filters(parser: CommandParser) -> None:
    """Add the options that choose executions."""
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--task", metavar="ID", help="only of this task: its id or its end")
    parser.add_argument(
        "--status",
        action="extend",
        nargs="+",
        choices=Status.values,
        metavar="STATE",
        help=f"only in these states: {', '.join(Status.values)}",
    )
    parser.add_argument("--q", metavar="TEXT", help="in the task's name or labels, or the error")
    parser.add_argument("--wide", action="store_true", help="full ids and names")


def add_list_options(parser: CommandParser) -> None:
    """Add the options of ``list``."""
    add_filters(parser)
    add_file_options(parser)
    parser.add_argument("--series", type=UUID, metavar="JOB", help="only made by this backfill")
    parser.add_argument("--concurrency-key", metavar="KEY", help="only of this concurrency key")
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="occurrences from then on: 2h, last friday 18:00, or RFC 3339 (1d)",
    )
    parser.add_argument(
        "--until",
        metavar="TIME",
        help="occurrences before then: 2h, last friday 18:00, or RFC 3339",
    )
    parser.add_argument(
        "--due", choices=DUE, help="open work whose time has come, or a second ago (late)"
    )
    parser.add_argument(
        "--ended",
        choices=ENDED,
        help="executions that ended in this minute or the 59 before it, without steps",
    )
    add_list_filter(parser, "http:5xx duration:>2s", EXECUTION_ORDERS)


def add_show_options(parser: CommandParser) -> None:
    """Add the options of ``show``."""
    parser.add_argument("id", metavar="ID", help="the id, or its end as lists show it (last day)")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument(
        "--http", action="store_true", help="requests, answers and timings of every attempt"
    )


def list_executions(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """List executions, newest first unless asked otherwise."""
    wanted = filter_option(options["filter"], EXECUTIONS)
    order = order_option(options["ordering"], EXECUTION_ORDERS, "-id")
    since = moment_option("--since", options["since"])
    until = moment_option("--until", options["until"])
    now = database_now()
    moment = {name: options[name] for name in ("due", "ended")}
    begun = any(moment.values()) or options["series"] is not None
    if since is None and not begun and not (wanted and begins(wanted)):
        # The ledger is large: without a start, the query would read it from its first day on.
        since = (until or now) - _WINDOW
    if since is not None and until is not None and until <= since:
        raise wrong_use("--until", "lies before --since")
    limit = shown_limit(options)
    bounds = {**with_bounds(moment, now), "concurrency_key": options["concurrency_key"]}
    rows = chosen(options, bounds).scheduled_between(since, until)
    if options["series"] is not None:
        made = executions_made_by(chosen_tenant(options["tenant"]).id, options["series"])
        rows = rows.filter(pk__in=made.values("pk"))
    if wanted is not None:
        rows = executions_matching(rows, wanted, scope_of(options["tenant"]))
    rows = in_order(rows, order)
    if print_file(command, options, "executions", rows, order=order):
        return
    ordered = rows.order_by(*order)[: limit + 1]
    found = read_list(lambda: list(ordered), advice=advice_for(bounded=since is not None))
    page = found[:limit]
    documents = documents_of(page)
    document = {
        "executions": documents,
        "since": None if since is None else format_instant(since),
        "until": None if until is None else format_instant(until),
        "more": len(found) > limit,
    }
    command.emit(options, document, lines_of(command, documents, wide=options["wide"]))
    if len(found) > limit:
        first = "newest" if order == ("-id",) else "first"
        command.note(f"the {first} {limit}; see more with --limit")


def show_execution(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Show one execution."""
    execution = find_execution(options["id"], options["tenant"])
    document = {
        **present_execution_detail(execution, now=database_now()),
        "tenant_id": str(execution.tenant_id),
    }
    lines = _show_lines(command, document)
    if options["json"] or options["http"]:
        note_shown("execution", [document])
    command.emit(options, document, _http_lines(lines, document) if options["http"] else lines)


def chosen(
    options: Mapping[str, Any], moment: Mapping[str, Any] | None = None
) -> ExecutionQuerySet:
    """Return the executions that the filters leave, of any time; ``moment`` adds to them."""
    task = None if options["task"] is None else find_task(options["task"], options["tenant"]).id
    filters = {"status": options["status"], "task": task, "q": options["q"], **(moment or {})}
    return executions_of(options["tenant"]).filtered(filters)


def documents_of(executions: Sequence[Execution]) -> list[dict[str, Any]]:
    """Return executions as the API lists them, each with its tenant."""
    return [
        {**document, "tenant_id": str(execution.tenant_id)}
        for execution, document in zip(executions, present_executions(executions), strict=True)
    ]


def lines_of(
    command: PunctualCommand, documents: Sequence[Mapping[str, Any]], *, wide: bool
) -> list[str]:
    """Return executions as a table, at most 80 columns unless wide."""
    rows = []
    for found in documents:
        name, cause = found["task_name"], _cause(found)
        if not wide:
            name = shown(name, _NAME_WIDTH)
            cause = shown(cause, _CAUSE_WIDTH).ljust(_CAUSE_WIDTH)
        rows.append(
            (
                found["id"] if wide else found["id"][-ID_TAIL:],
                found["status"].ljust(_STATUS_WIDTH),
                _short(format_instant(moment_of(UUID(found["id"])))),
                *((_short(found["scheduled_for"]),) if wide else ()),
                *((f"{found['attempt']}/{found['max_attempts']}",) if wide else ()),
                _spent(found["start_delay_ms"]),
                _spent(found["duration_ms"]),
                cause,
                name,
            )
        )
    # The first time is the order of the rows; a backfill's runs are for another instant.
    times = ("time (UTC)", "for (UTC)") if wide else ("time (UTC)",)
    tries = ("tries",) if wide else ()
    heading = ("id", "status", *times, *tries, "delay", "took", "cause", "task")
    return table(heading, rows, command.paint)


def _short(moment: str) -> str:
    return moment[5:19].replace("T", " ")


def _spent(milliseconds: float | None) -> str:
    text = "-" if milliseconds is None else duration_text(milliseconds).replace(" ", "")
    return text.ljust(_DURATION_WIDTH)


def _cause(found: Mapping[str, Any]) -> str:
    if found["error"] is not None:
        code, status = found["error"]["code"], found["response_status"]
        return f"HTTP {status}" if code == "http_status" and status else str(code)
    return str(found["reason"] or "-")


def _show_lines(command: PunctualCommand, found: Mapping[str, Any]) -> Iterator[str]:
    facts = (
        ("id", found["id"]),
        ("task", f"{found['task_name']} {found['task_id']}"),
        ("tenant", found["tenant_id"]),
        ("reason", found["reason"]),
        ("trigger", found["trigger"]),
        ("for", found["scheduled_for"]),
        ("due", found["due_at"]),
        ("started", _moment(found["started_at"], "delay", found["start_delay_ms"])),
        ("finished", _moment(found["finished_at"], "took", found["duration_ms"])),
        ("attempts", f"{found['attempt']} of {found['max_attempts']}"),
        ("worker", found["worker"]),
        ("parent", found["parent_id"]),
        ("into", next(iter((found["into"] or {}).values()), None)),
    )
    yield f"{'status':<9} {command.paint(found['status'])}"
    for name, value in facts:
        if value is not None:
            yield f"{name:<9} {shown(value)}"
    if found["error"] is not None:
        yield f"{'error':<9} {found['error']['code']}: {shown(found['error']['message'])}"
    if found["waiting_for"] is not None:
        yield f"{'waits':<9} {shown(found['waiting_for']['detail'])}"
    for attempt in found["attempts"]:
        yield f"{'attempt':<9} {_attempt(attempt)}"


def _moment(moment: str | None, word: str, milliseconds: float | None) -> str | None:
    if moment is None or milliseconds is None:
        return moment
    return f"{moment} ({word} {duration_text(milliseconds)})"


def _attempt(attempt: Mapping[str, Any]) -> str:
    error = (attempt["error"] or {}).get("code", "")
    status = attempt["response_status"] or ""
    took = "" if attempt["duration_ms"] is None else duration_text(attempt["duration_ms"])
    words = [f"{attempt['number']}:", attempt["outcome"], str(status), error, took]
    return " ".join(word for word in [*words, attempt["finished_at"] or ""] if word)


def _http_lines(lines: Iterator[str], found: Mapping[str, Any]) -> Iterator[str]:
    """Yield every exchange below the facts; values of secret headers are masked already."""
    yield from lines
    body = found["request"]["body"] if found["request"] else None
    for attempt in found["attempts"]:
        yield ""
        yield f"--- attempt {attempt['number']}  {attempt['outcome']}"
        yield from _request_lines(attempt["request"], body)
        yield from _response_lines(attempt["response"])
        yield f"timings: {_timings(attempt['timings'])}"
    if not found["attempts"] and found["request"]:
        yield ""
        yield "--- not sent yet"
        yield from _request_lines(found["request"], body)


def _request_lines(request: Mapping[str, Any], body: Any) -> Iterator[str]:
    yield f"> {request['method']} {shown(request['url'])}"
    for name, value in request["headers"].items():
        yield f"> {shown(name)}: {shown(value)}"
    if body is not None:
        yield f"> {shown(orjson.dumps(body).decode(), _BODY_CHARACTERS)}"


def _response_lines(response: Mapping[str, Any] | None) -> Iterator[str]:
    if response is None:
        yield "< no answer was captured"
        return
    yield f"< {response['status']}"
    for name, value in response["headers"].items():
        yield f"< {shown(name)}: {shown(value)}"
    for line in response["body"][:_BODY_CHARACTERS].splitlines():
        yield f"< {shown(line)}"
    if response["truncated"] or len(response["body"]) > _BODY_CHARACTERS:
        yield "< … (not all of it)"


def _timings(timings: Mapping[str, float | None]) -> str:
    known = [
        f"{_PHASE_WORDS.get(name, name.removesuffix('_ms'))} {duration_text(value)}"
        for name, value in timings.items()
        if value is not None
    ]
    return " · ".join(known) or "-"
