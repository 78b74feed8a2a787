"""``manage.py schedule forecast`` and ``spread``: forecasts starts, and spreads hot spots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.bulk.spreading import plan_spread, present_meeting, spread_minute
from executions.loop.clocks import database_now
from insight.forecast.load import MAX_DAYS, forecast, present_forecast
from insight.presentation.bulk_jobs import present_bulk_job
from operations.bulk import options as bulk_options
from operations.bulk import runs
from operations.finding import moment_option
from operations.schedules.preview import add_since
from operations.tenancy import chosen_tenant
from shared.actor import COMMAND
from shared.commands import PunctualCommand, shown, table, wrong_use
from shared.exceptions import InvalidInput

#: Hours that the text lists; ``--json`` has them all.
_BUSIEST_HOURS = 8
_SPELLED = {"at": "AT", "jitter_seconds": "--jitter"}


def add_forecast_options(parser: CommandParser) -> None:
    """Add the options of ``forecast``."""
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")
    add_since(parser)
    parser.add_argument(
        "--days",
        type=int,
        choices=range(1, MAX_DAYS + 1),
        default=MAX_DAYS,
        metavar="N",
        help=f"how many: 1 to {MAX_DAYS} ({MAX_DAYS})",
    )
    parser.add_argument(
        "--resolution", choices=("minute", "hour"), default="hour", help="of the buckets (hour)"
    )
    parser.add_argument(
        "--destination",
        metavar="HOST",
        help="only tasks that call it, in any spelling; with its port unless that is 80 or 443",
    )
    parser.add_argument("--label", help="only tasks with key:value, or with this key")


def show_forecast(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Print the busiest hours, the destinations and the hot spots."""
    tenant = chosen_tenant(options["tenant"])
    found = forecast(
        tenant.id,
        now=database_now(),
        start=moment_option("--since", options["start"], ahead=True),
        days=options["days"],
        destination=options["destination"],
        label=options["label"],
    )
    document = present_forecast(found, options["resolution"])
    command.emit(options, document, _lines(document))
    if not document["complete"]:
        counted, tasks = document["tasks_counted"], document["tasks"]
        command.note(f"Schedules are many: {counted} of {tasks} tasks are counted.")
    if document["hot_spots"]:
        first = document["hot_spots"][0]["at"]
        command.note(f"Spread one with `manage.py schedule spread {first}`.")


def add_spread_options(parser: CommandParser) -> None:
    """Add the options of ``spread``."""
    parser.add_argument("at", metavar="AT", help="a coming minute: tomorrow 0:00, or RFC 3339")
    parser.add_argument(
        "--jitter",
        type=float,
        metavar="SECONDS",
        help="half of the way to the next start, at most 300, unless given",
    )
    parser.add_argument("--tenant", help="name or id; may be left out where there is one")
    parser.add_argument("--dry-run", action="store_true", help="show how many, change nothing")
    parser.add_argument("--detach", action="store_true", help="do not wait for the end")
    bulk_options.add_wait(parser)


def spread(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Give the tasks of a minute a jitter, as a bulk job that is followed to its end."""
    tenant = chosen_tenant(options["tenant"])
    at = moment_option("AT", options["at"], ahead=True)
    try:
        found = plan_spread(tenant.id, at)
        plan = present_meeting(found, options["jitter"])
        document = {"dry_run": options["dry_run"], "tenant_id": str(tenant.id), "plan": plan}
        if options["dry_run"] or not found.task_ids:
            command.emit(options, {**document, "bulk_job": None}, [_sentence(plan)])
            return
        command.note(_sentence(plan))
        command.confirm(options, "Continue?")
        with transaction.atomic(durable=True):
            job = spread_minute(
                tenant.id,
                at,
                actor=COMMAND,
                jitter_seconds=options["jitter"],
                expected_count=len(found.task_ids),
            )
    except InvalidInput as error:
        raise _spoken(error) from error
    if options["detach"]:
        lines = [f"bulk job {job.id}"]
        command.emit(options, {**document, "bulk_job": present_bulk_job(job)}, lines)
        command.note(runs.how_to_follow(job))
        return
    job = runs.follow(command, job, options["wait"])
    lines = [runs.summary(job)]
    command.emit(options, {**document, "bulk_job": present_bulk_job(job)}, lines)
    runs.leave_by_result(command, job)


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"{document['starts']} starts of {document['tasks']} tasks from {document['from']}"
    if document["resolution"] == "hour" and document["buckets"]:
        busiest = sorted(document["buckets"], key=lambda item: (-item["count"], item["at"]))
        rows = [(item["at"], item["count"]) for item in busiest[:_BUSIEST_HOURS]]
        yield from ("", *table(("busiest hours", "starts"), rows))
    if document["destinations"]:
        rows = [(item["destination"], item["count"]) for item in document["destinations"]]
        yield from ("", *table(("destination", "starts"), rows[:_BUSIEST_HOURS]))
    if document["hot_spots"]:
        spots = [
            (spot["at"], spot["count"], spot["tasks"], spot["repeats"], _names(spot))
            for spot in document["hot_spots"]
        ]
        yield from ("", *table(("hot spot", "starts", "tasks", "repeats", "such as"), spots))


def _names(spot: Mapping[str, Any]) -> str:
    return shown(", ".join(task["name"] for task in spot["sample"][:2]), 40)


def _sentence(plan: Mapping[str, Any]) -> str:
    tasks = "1 task" if plan["tasks"] == 1 else f"{plan['tasks']} tasks"
    left_out = f", {plan['left_out']} have one already" if plan["left_out"] else ""
    more = ", and there are more" if plan["limited"] else ""
    return f"{tasks} at {plan['at']}: a jitter of {plan['jitter_seconds']:g} s{left_out}{more}"


def _spoken(error: InvalidInput) -> InvalidInput:
    item = error.errors[0]
    option = _SPELLED.get(item.pointer.rpartition("/")[2])
    return error if option is None else wrong_use(option, item.message)
