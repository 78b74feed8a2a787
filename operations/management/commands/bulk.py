"""``manage.py bulk``: the bulk jobs: list, show or follow one, cancel one.

Exit codes of ``show --follow`` are those of the action itself: 0 done, 6 in part, 1 not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from executions.bulk.jobs import cancel_bulk_job
from executions.bulk.results import count_results, results_text, with_open_executions
from executions.choices import JobStatus
from executions.models import BulkJob
from insight.presentation.bulk_jobs import present_bulk_job, present_job_detail
from operations.bulk import options as bulk_options
from operations.bulk import runs
from operations.finding import ID_TAIL, find_row
from shared.actor import COMMAND
from shared.command_parser import Verb
from shared.commands import VerbCommand, shown, table
from tenants.services import get_tenant


def _list(command: Any, options: Mapping[str, Any]) -> None:
    found = BulkJob.objects.order_by("-created_at", "-id")
    if options["tenant"] is not None:
        found = found.filter(tenant=get_tenant(options["tenant"]))
    if options["status"]:
        found = found.filter(status=options["status"])
    jobs = list(found[: max(0, options["limit"])])
    documents = [_present(job) for job in jobs]
    lines = _list_lines(jobs, command.paint, wide=options["wide"])
    command.emit(options, {"bulk_jobs": documents}, lines)


def _show(command: Any, options: Mapping[str, Any]) -> None:
    job = _find(options)
    if options["follow"]:
        job = runs.follow(command, job, options["wait"])
    command.emit(options, _present_detail(job), _show_lines(job))
    if options["follow"]:
        runs.leave_by_result(command, job)


def _cancel(command: Any, options: Mapping[str, Any]) -> None:
    job = _find(options)
    command.confirm(options, f"Cancel {job}? What it has done stays done.")
    with transaction.atomic(durable=True):
        job = cancel_bulk_job(job.tenant_id, job.id, actor=COMMAND)
    command.emit(options, _present(job), [f"cancelled {job.id}: {runs.summary(job)}"])


def _find(options: Mapping[str, Any]) -> BulkJob:
    found: BulkJob = find_row(BulkJob.objects.all(), options["id"], "bulk job")
    return found


def _add_list_options(parser: CommandParser) -> None:
    parser.add_argument("--tenant", help="name or id; every tenant if left out")
    parser.add_argument("--status", choices=JobStatus.values, help="only in this state")
    parser.add_argument("--limit", type=int, default=50, help="at most this many (50)")
    parser.add_argument("--wide", action="store_true", help="full ids")


def _add_id(parser: CommandParser) -> None:
    parser.add_argument("id", help="the id, or its end as the list shows it")


def _add_show_options(parser: CommandParser) -> None:
    _add_id(parser)
    parser.add_argument("--follow", action="store_true", help="wait for its end")
    bulk_options.add_wait(parser)


class Command(VerbCommand):
    """List, show, follow and cancel bulk jobs."""

    help = "Actions over many rows: see how far they are, and cancel them."
    verbs = (
        Verb(
            "list",
            "list bulk jobs, newest first",
            ("bulk list --status RUNNING",),
            _list,
            _add_list_options,
        ),
        Verb(
            "show",
            "show a bulk job, or follow it to its end",
            ("bulk show 1f2e3d4c5b6a --follow",),
            _show,
            _add_show_options,
        ),
        Verb(
            "cancel",
            "cancel a bulk job; what it did stays done",
            ("bulk cancel 1f2e3d4c5b6a --yes",),
            _cancel,
            _add_id,
            dangerous=True,
        ),
    )


def _present(job: BulkJob) -> dict[str, Any]:
    return {**present_bulk_job(job), "tenant_id": str(job.tenant_id)}


def _present_detail(job: BulkJob) -> dict[str, Any]:
    return {**present_job_detail(job), "tenant_id": str(job.tenant_id)}


def _list_lines(jobs: list[BulkJob], paint: Callable[[str], str], *, wide: bool) -> list[str]:
    rows = [
        (
            str(job.id) if wide else str(job.id)[-ID_TAIL:],
            f"{job.created_at:%m-%d %H:%M}",
            job.status,
            f"{job.action} {job.kind}",
            f"{job.done_count}/{job.skipped_count}/{job.failed_count} of {job.total}",
        )
        for job in jobs
    ]
    return table(("id", "made (UTC)", "status", "what", "done/skipped/failed"), rows, paint)


def _still_open(job: BulkJob) -> str:
    """Return a remark for a completed job some of whose executions have not ended."""
    still = with_open_executions([job])
    return " (every execution is made, not every one has ended)" if still else ""


def _show_lines(job: BulkJob) -> Iterator[str]:
    facts: tuple[tuple[str, object], ...] = (
        ("id", job.id),
        ("tenant", job.tenant_id),
        ("what", f"{job.action} {job.kind} ({job.total})"),
        ("name", job.name or "-"),
        ("by", job.created_by),
        ("status", f"{job.status} {job.reason}".rstrip() + _still_open(job)),
        ("items", runs.counts(job)),
    )
    made = count_results(job)
    if made is not None:
        facts += (("made", results_text(made)),)
    for name, value in facts:
        yield f"{name:<8} {shown(str(value))}"
