"""``manage.py tasks backfill``: the plan, a confirmation, then the bulk job.

The command follows the job until every execution is made. The executions run by themselves, at most
``--max-parallel`` at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.db import transaction

from executions.bulk.backfill import (
    MAX_PARALLEL,
    OVERLAP_POLICIES,
    Plan,
    Wanted,
    create_backfill,
    plan_backfill,
)
from executions.models import BulkJob
from insight.presentation.bulk_jobs import present_backfill_plan, present_bulk_job
from operations.bulk import options as bulk_options
from operations.bulk import runs
from operations.finding import find_task, moment_option
from shared.actor import COMMAND
from shared.commands import PunctualCommand, shown, with_former_names, wrong_use
from shared.exceptions import InvalidInput
from tasks.models import Task

#: The names of the backfill's fields on the command line.
_SPELLED = {
    "start": "--since",
    "end": "--until",
    "max_parallel": "--max-parallel",
    "overlap_policy": "--overlap",
}


def add_options(parser: CommandParser) -> None:
    """Add the options of ``backfill``."""
    parser.add_argument("id", metavar="ID", help="the task: its id, or the end of it")
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    with_former_names(
        parser.add_argument(
            "--since",
            "--from",
            dest="start",
            required=True,
            metavar="TIME",
            help="the first moment, included: 7d, last friday 18:00, or RFC 3339",
        )
    )
    with_former_names(
        parser.add_argument(
            "--until",
            "--to",
            dest="end",
            default="now",
            metavar="TIME",
            help="the last moment, included (now)",
        )
    )
    parser.add_argument(
        "--max-parallel",
        type=int,
        metavar="N",
        help=f"maximum at a time, up to {MAX_PARALLEL} (10, or what the task allows)",
    )
    parser.add_argument(
        "--overlap",
        choices=OVERLAP_POLICIES,
        help="beside each other, or one after the other (allow, unless the task says otherwise)",
    )
    parser.add_argument("--name", default="", help="kept with the job: the incident, say")
    parser.add_argument("--dry-run", action="store_true", help="show the plan, change nothing")
    parser.add_argument("--detach", action="store_true", help="do not wait for the end")
    bulk_options.add_wait(parser)


def run(command: PunctualCommand, options: Mapping[str, Any]) -> None:
    """Show the plan; unless it is a dry run, ask, make the job and follow it."""
    wanted = _wanted(options)
    task = find_task(options["id"], options["tenant"])
    plan = _plan(task, wanted)
    document = {
        "action": "backfill",
        "dry_run": options["dry_run"],
        "tenant_id": str(task.tenant_id),
        "task_id": str(task.id),
        "plan": present_backfill_plan(plan),
    }
    if options["dry_run"]:
        command.emit(options, {**document, "bulk_job": None}, _lines(plan))
        return
    for line in _lines(plan):
        if options["yes"]:
            command.note(line)
        else:
            # Not a hint: a person sees the plan before the question, also with --quiet.
            command.stderr.write(line, style_func=str)
    runs.confirm_count(command, options, plan.count, typed=False)
    job = _make(task.tenant_id, task.id, wanted, plan, options["name"])
    if options["detach"]:
        command.emit(options, {**document, "bulk_job": present_bulk_job(job)}, [_named(job)])
        command.note(runs.how_to_follow(job))
        return
    job = runs.follow(command, job, options["wait"])
    lines = [_named(job), runs.summary(job)]
    command.emit(options, {**document, "bulk_job": present_bulk_job(job)}, lines)
    command.note(f"The executions run now; follow them with `manage.py bulk show {job.id}`.")
    runs.leave_by_result(command, job)


def _wanted(options: Mapping[str, Any]) -> Wanted:
    return Wanted(
        moment_option("--since", options["start"]),
        moment_option("--until", options["end"]),
        options["max_parallel"],
        options["overlap"],
    )


def _plan(task: Task, wanted: Wanted) -> Plan:
    try:
        return plan_backfill(task.tenant_id, task.id, wanted)
    except InvalidInput as error:
        item = error.errors[0]
        option = _SPELLED.get(item.pointer.removeprefix("#/"))
        if option is None:
            raise
        raise wrong_use(option, item.message) from error


def _make(tenant_id: UUID, task_id: UUID, wanted: Wanted, plan: Plan, name: str) -> BulkJob:
    with transaction.atomic(durable=True):
        return create_backfill(
            tenant_id,
            task_id,
            wanted,
            actor=COMMAND,
            name=name[:200],
            expected_count=plan.count,
        )


def _lines(plan: Plan) -> Iterator[str]:
    first, last = plan.instants[0].at, plan.instants[-1].at
    plural = "" if plan.count == 1 else "s"
    yield (
        f"{plan.count} occurrence{plural} of {shown(plan.task.name, 40)}, "
        f"first {first:%Y-%m-%d %H:%M:%S}, last {last:%Y-%m-%d %H:%M:%S} UTC"
    )
    if plan.excluded:
        yield f"{plan.excluded} left out by calendars"
    took = plan.estimated_seconds
    about = "" if took is None else f", about {took:.0f} s if each takes as long as the latest runs"
    yield f"at most {plan.max_parallel} at a time{about}"


def _named(job: BulkJob) -> str:
    return f"bulk job {job.id}"
