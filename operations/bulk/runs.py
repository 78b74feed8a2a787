"""A bulk job from the command line: show its scope, ask, make it, follow it to its end.

Called by commands that act on many rows. Following only reads; the job continues without us.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from executions.bulk.jobs import Scope, count_matching, create_bulk_job
from executions.bulk.results import count_results, results_text
from executions.choices import JOB_ACTIVE, JobStatus
from executions.models import BulkJob
from insight.presentation.bulk_jobs import present_bulk_job, present_scope
from shared.actor import COMMAND
from shared.commands import (
    FAILED,
    PARTIAL,
    TIMED_OUT,
    WRONG_USE,
    Error,
    PunctualCommand,
    shown,
    wrong_use,
)
from shared.exceptions import InvalidInput
from tenants.models import Tenant

#: From this count on, a person has to type it, and so has to read it.
TYPED_FROM = 1001
#: A system worker takes a job at once; if it has not after this time, we print a hint.
_HINT_SECONDS = 5.0
_POLL_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Plan:
    """What a bulk job shall do: ``action`` on the rows of ``kind`` that the filters choose."""

    tenant: Tenant
    kind: str
    action: str
    filters: dict[str, Any]
    job_options: dict[str, Any]
    noun: str

    def sentence(self, scope: Scope) -> str:
        """Return the scope in words: how many, from when to when, of how many tasks."""
        plural = "" if scope.count == 1 else "s"
        if not scope.count:
            return f"0 {self.noun}s of the tenant {shown(self.tenant.name)} match"
        span = f"oldest {scope.oldest:%Y-%m-%d %H:%M}, newest {scope.newest:%Y-%m-%d %H:%M} UTC"
        tasks = f"{scope.tasks} task{'' if scope.tasks == 1 else 's'}"
        whole = f"{scope.count} {self.noun}{plural}, {span}, {tasks}, 1 tenant ({self.tenant.name})"
        return f"{whole}; {scope.unfit} of them cannot go there" if scope.unfit else whole


def carry_out(command: PunctualCommand, options: Mapping[str, Any], plan: Plan) -> None:
    """Show the scope; unless it is a dry run, ask, make the job and follow it."""
    into = plan.job_options.get("into")
    scope = count_matching(plan.tenant.id, plan.kind, plan.filters, action=plan.action, into=into)
    document = _document(plan, scope, options)
    if options["dry_run"] or not scope.count:
        command.emit(options, {**document, "bulk_job": None}, [plan.sentence(scope)])
        return
    if options["yes"]:
        command.note(plan.sentence(scope))
    else:
        # Not a hint: a person sees the scope before the question, also with --quiet.
        command.stderr.write(plan.sentence(scope), style_func=str)
    confirm_count(command, options, scope.count, typed=plan.action == "purge")
    job = _make(plan, scope)
    if options["detach"]:
        command.emit(
            options, {**document, "bulk_job": present_bulk_job(job)}, [f"bulk job {job.id}"]
        )
        command.note(how_to_follow(job))
        return
    job = follow(command, job, options["wait"])
    command.emit(options, {**document, "bulk_job": present_bulk_job(job)}, [summary(job)])
    leave_by_result(command, job)


def _make(plan: Plan, scope: Scope) -> BulkJob:
    try:
        with transaction.atomic(durable=True):
            return create_bulk_job(
                plan.tenant.id,
                kind=plan.kind,
                action=plan.action,
                filters=plan.filters,
                options=plan.job_options,
                name=f"manage.py: {plan.action}",
                actor=COMMAND,
                expected_count=scope.count,
            )
    except InvalidInput as error:
        item = error.errors[0]
        option = _SPELLED.get(item.pointer.rpartition("/")[2])
        if option is None:
            raise
        raise wrong_use(option, item.message) from error


def confirm_count(
    command: PunctualCommand, options: Mapping[str, Any], count: int, *, typed: bool
) -> None:
    """Ask before many rows change; for heavy actions and large counts, the count is the answer."""
    if options["yes"]:
        return
    if not typed and count < TYPED_FROM:
        command.confirm(options, "Continue?")
        return
    if not sys.stdin.isatty():
        raise Error("This needs --yes where there is no terminal.", returncode=WRONG_USE)
    command.stderr.write(f"Type {count} to continue: ", ending="")
    if sys.stdin.readline().strip() != str(count):
        raise Error("Nothing was changed.", returncode=FAILED)


def follow(command: PunctualCommand, job: BulkJob, wait_seconds: float) -> BulkJob:
    """Show the job's progress until it ends; leave with 7 when that takes too long.

    An interruption ends the watching, not the job.
    """
    started, hinted = time.monotonic(), False
    try:
        with command.progress(_PARTICIPLES.get(job.action, job.action), job.total) as bar:
            while job.status in JOB_ACTIVE:
                waited = time.monotonic() - started
                if waited > wait_seconds:
                    command.note(f"The job has not ended yet. {how_to_follow(job)}")
                    command.leave(TIMED_OUT)
                if job.status == JobStatus.PENDING and waited > _HINT_SECONDS and not hinted:
                    hinted = True
                    command.note(
                        "No system worker has taken it yet; `manage.py run_worker --pool system` "
                        "or `manage.py up` runs one."
                    )
                _pause()
                job.refresh_from_db()
                decided = job.done_count + job.skipped_count + job.failed_count
                bar.update(decided, note=counts(job))
    except KeyboardInterrupt:
        command.note(f"The job continues. {how_to_follow(job)}")
        raise
    return job


def summary(job: BulkJob) -> str:
    """Return the last line: the results of the items, and of the executions that were made."""
    ending = "" if job.status == JobStatus.COMPLETED else f" ({job.status.lower()})"
    made = count_results(job)
    return f"{counts(job)}{ending}" + (
        f"; of the executions made: {results_text(made)}" if made and any(made.values()) else ""
    )


def leave_by_result(command: PunctualCommand, job: BulkJob) -> None:
    """Leave with 1 when nothing was done, with 6 when only part of it was."""
    if job.status == JobStatus.COMPLETED and not job.failed_count:
        return
    command.leave(PARTIAL if job.done_count else FAILED)


#: The names of a job's options on the command line.
_SPELLED = {
    "rate_per_second": "--rate",
    "canary": "--canary",
    "stop_on_failure_rate": "--stop-on-failure-rate",
    "payload": "--payload",
    "resolution": "--resolution",
    "note": "--note",
    "into": "--into-url or --into-pool",
}
_PARTICIPLES = {
    "backfill": "making executions",
    "retry": "retrying",
    "replay": "replaying",
    "resolve": "resolving",
    "set": "setting",
    "archive": "archiving",
    "purge": "purging",
}


def _pause() -> None:
    threading.Event().wait(_POLL_SECONDS)


def counts(job: BulkJob) -> str:
    """Return the numbers of items by result."""
    return f"done {job.done_count}, skipped {job.skipped_count}, failed {job.failed_count}"


def how_to_follow(job: BulkJob) -> str:
    """Return how to follow a job, and how to cancel it."""
    return (
        f"Follow it with `manage.py bulk show {job.id} --follow`, "
        f"stop it with `manage.py bulk cancel {job.id}`."
    )


def _document(plan: Plan, scope: Scope, options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "action": plan.action,
        "dry_run": options["dry_run"],
        "tenant_id": str(plan.tenant.id),
        "scope": present_scope(scope),
    }
