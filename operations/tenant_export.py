"""Writes what is stored about a tenant into one ZIP file, a JSON Lines file for each kind of rows.

Every file has named columns, so that a new column is in no export until it is added. Secrets
are never in it: keys have their prefix, definitions their masks. Payloads, progress, results and
answers are decrypted only where asked for. Rows are read in batches of ids, in no long transaction:
a row that changes meanwhile is in it as it was when it was read.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import QuerySet

from events import audit
from executions.models import (
    Attempt,
    DeadLetter,
    EndedWorkflowRun,
    Erasure,
    Execution,
    WorkflowRun,
    WorkflowStep,
)
from executions.payloads import (
    as_readable,
    payload_of,
    payloads_of_letters,
    progress_of,
    response_of,
    result_of,
)
from executions.redacted_fields import paths_of_versions
from insight.presentation.erasures import present_erasure
from insight.workflow_runs import bounds_of
from operations.exported_tables import PLAIN, TENANT
from shared import process_sight
from shared.actor import Actor
from shared.exceptions import Conflict
from shared.field_redaction import redacted, redacted_text
from shared.ids import first_id_at, moment_of
from shared.instants import format_instant
from shared.payload_sight import sight
from tasks.choices import WORKFLOW
from tasks.definition import Definition, to_long
from tasks.models import Task
from tasks.revisions import Readable, own_revisions, read_readable, readable_version
from tasks.validation.workflow import workflow_fields
from tenants.models import Tenant

_AT_ONCE = 500
_NO_ID = UUID(int=0)
_MILLISECOND = timedelta(milliseconds=1)
_TASKS = (
    "id name type status version priority schedule labels owner pool destination pause_note "
    "created_at updated_at deleted_at"
)
_VERSIONS = "task_id version changed_by created_at"
_EXECUTIONS = (
    "id task_id revision status reason trigger scheduled_for due_at queued_at started_at "
    "finished_at attempt max_attempts priority pool destination worker response_status error_code "
    "error_message parent_id run_id step item take created_at"
)
_ATTEMPTS = (
    "id execution_id number worker due_at queued_at started_at finished_at outcome error_code "
    "error_message response_status timings"
)
_LETTERS = (
    "id task_id execution_id error_code error_message error_signature attempt_count revision "
    "resolved resolution note resolved_by resolved_at retry_execution_id created_at"
)
_RUNS = (
    "id take execution_id task_id version phase reason scheduled_for began_at deadline_at root_id "
    "parent_run"
)
_STEPS = (
    "run_id step item take status reason execution_id started_at finished_at error_code "
    "error_message actor note"
)


_OPENED = (("payload", payload_of), ("progress", progress_of), ("result", result_of))


class _Part(NamedTuple):
    """A file of the export and its rows."""

    name: str
    rows: Iterator[dict[str, Any]]


def export_tenant(
    tenant: Tenant, path: Path, *, with_payloads: bool, actor: Actor
) -> dict[str, int]:
    """Write a tenant's data to a file that does not exist yet; return the rows of each kind.

    The file is complete or not there at all; only its owner may read it. The export is audited
    before its first row is read. Raise Conflict ``file_exists``, and OSError.
    """
    if path.exists():
        raise Conflict(f"{path} exists. Name a new file.", code="file_exists")
    with transaction.atomic(durable=True):
        facts = {"with_payloads": with_payloads}
        audit.record(tenant.id, actor, "tenant.exported", "tenant", tenant.id, after=facts)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    counts: dict[str, int] = {}
    try:
        with os.fdopen(descriptor, "wb") as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                for part in _parts(tenant, with_payloads=with_payloads):
                    with archive.open(f"{part.name}.jsonl", "w", force_zip64=True) as raw:
                        counts[part.name] = _write(raw, part.rows)
            stream.flush()
            os.fsync(stream.fileno())
        # Fails where the file was made meanwhile; a rename would replace it.
        os.link(scratch, path)
    except FileExistsError as error:
        raise Conflict(f"{path} exists. Name a new file.", code="file_exists") from error
    finally:
        scratch.unlink(missing_ok=True)
    return counts


def _write(raw: Any, rows: Iterator[dict[str, Any]]) -> int:
    count = 0
    with io.BufferedWriter(raw) as out:
        for row in rows:
            option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME
            out.write(orjson.dumps(row, default=_encode, option=option))
            count += 1
    return count


def _encode(value: Any) -> Any:
    return format_instant(value) if hasattr(value, "astimezone") else str(value)


def _parts(tenant: Tenant, *, with_payloads: bool) -> Iterator[_Part]:
    own = Tenant.objects.filter(pk=tenant.id)
    yield _Part("tenant", own.values(*TENANT.split()).iterator())
    for plain in PLAIN:
        yield _Part(plain.name, plain.rows(tenant.id))
    yield _Part("tasks", _tasks(tenant.id, with_payloads=with_payloads))
    yield _Part("task_versions", _versions(tenant.id, with_payloads=with_payloads))
    yield _Part("executions", _executions(tenant.id, with_payloads=with_payloads))
    yield _Part("attempts", _attempts(tenant.id, with_payloads=with_payloads))
    yield _Part("dead_letters", _letters(tenant.id, with_payloads=with_payloads))
    yield _Part("workflow_runs", _runs(tenant.id))
    yield _Part("workflow_steps", _steps(tenant.id))
    erasures = Erasure.objects.for_tenant(tenant.id).order_by("begun_at")
    yield _Part("erasures", (present_erasure(one) for one in erasures))


def _pages(found: QuerySet[Any]) -> Iterator[list[Any]]:
    """Yield the rows in order of their ids, some at a time, each read by a statement of its own."""
    after = _NO_ID
    while page := list(found.filter(id__gt=after).order_by("id")[:_AT_ONCE]):
        yield page
        after = page[-1].id


def _tasks(tenant_id: UUID, *, with_payloads: bool) -> Iterator[dict[str, Any]]:
    for page in _pages(Task.objects.filter(tenant_id=tenant_id)):
        readable = read_readable(page)
        for task in page:
            found = readable[task.id]
            shown = _definition(task, found, found.definition, with_payloads=with_payloads)
            yield {**_columns(task, _TASKS), "definition": shown}


def _versions(tenant_id: UUID, *, with_payloads: bool) -> Iterator[dict[str, Any]]:
    """Yield all versions of the tasks; fields that are masked now are masked in every one."""
    for page in _pages(Task.objects.filter(tenant_id=tenant_id)):
        readable = read_readable(page)
        for task in page:
            current = readable[task.id].definition
            for revision in own_revisions(task).order_by("version").iterator(_AT_ONCE):
                revision.task = task
                found = readable_version(revision)
                shown = _definition(task, found, current, with_payloads=with_payloads)
                yield {**_columns(revision, _VERSIONS), "definition": shown}


def _definition(
    task: Task, found: Readable, current: Definition, *, with_payloads: bool
) -> dict[str, Any]:
    if task.pool == WORKFLOW and found.is_whole:
        with sight(with_payloads):
            return workflow_fields(found.definition, current=current)
    shown = to_long(found.definition)
    if with_payloads:
        shown["payload"] = redacted(shown["payload"], current.redact)
    else:
        shown.pop("payload", None)
        shown.pop("payload_ref", None)
    return shown


def _runs(tenant_id: UUID) -> Iterator[dict[str, Any]]:
    for row in WorkflowRun.objects.filter(tenant_id=tenant_id).order_by("id").iterator(_AT_ONCE):
        yield {**_columns(row, _RUNS), "status": None, "finished_at": None}
    for page in _takes(tenant_id):
        for take in page:
            ended = {"status": take.status, "finished_at": take.finished_at}
            yield {**_columns(take, _RUNS), **ended}


def _takes(tenant_id: UUID) -> Iterator[list[EndedWorkflowRun]]:
    """Yield the ended takes, found by their workflows: no index finds them by tenant."""
    workflows = Task.objects.filter(tenant_id=tenant_id, pool=WORKFLOW).order_by("id")
    for task_id in workflows.values_list("id", flat=True).iterator(_AT_ONCE):
        found = EndedWorkflowRun.objects.filter(task_id=task_id).order_by("id", "take")
        takes = found.iterator(_AT_ONCE)
        while page := list(islice(takes, _AT_ONCE)):
            yield page


def _steps(tenant_id: UUID) -> Iterator[dict[str, Any]]:
    """Yield the ends of steps, of runs under way and of ended ones, a run at a time."""
    found = WorkflowRun.objects.filter(tenant_id=tenant_id).order_by("id")
    under_way = list(found.values_list("id", flat=True))
    yield from _ends_of(under_way)
    # A run under way may have takes that have ended; the takes of a run follow each other.
    known = set(under_way)
    for page in _takes(tenant_id):
        yield from _ends_of([row.id for row in page if row.id not in known])
        known.add(page[-1].id)


def _ends_of(run_ids: Sequence[UUID]) -> Iterator[dict[str, Any]]:
    for run_id in dict.fromkeys(run_ids):
        bounds = bounds_of(run_id)
        ends = WorkflowStep.objects.filter(
            run_id=run_id, id__gte=bounds["low"], id__lt=bounds["high"]
        )
        for row in ends.order_by("take", "step", "item").iterator(_AT_ONCE):
            yield _columns(row, _STEPS)


def _executions(tenant_id: UUID, *, with_payloads: bool) -> Iterator[dict[str, Any]]:
    for page in _pages(Execution.objects.filter(tenant_id=tenant_id, span_count__isnull=True)):
        masked = paths_of_versions({(row.task_id, row.revision) for row in page})
        for row in page:
            opened: dict[str, Any] = {}
            if with_payloads:
                redact = masked.get((row.task_id, row.revision), [])
                opened = {
                    name: redacted(as_readable(partial(read, row)).payload, redact)
                    for name, read in _OPENED
                }
            yield {**_columns(row, _EXECUTIONS), "worker": _worker(row), **opened}


def _attempts(tenant_id: UUID, *, with_payloads: bool) -> Iterator[dict[str, Any]]:
    """Yield the attempts, found by their executions: no index finds them by tenant."""
    ids = Execution.objects.filter(tenant_id=tenant_id).only("id", "task_id", "revision")
    for page in _pages(ids):
        bounds = {
            "id__gte": first_id_at(moment_of(page[0].id)),
            "id__lt": first_id_at(moment_of(page[-1].id) + _MILLISECOND),
        }
        versions = {row.id: (row.task_id, row.revision) for row in page}
        masked = paths_of_versions(set(versions.values()))
        executions = list(versions)
        found = Attempt.objects.filter(execution_id__in=executions, **bounds).order_by("id")
        for row in found.iterator(chunk_size=_AT_ONCE):
            redact = masked.get(versions[row.execution_id], [])
            opened = {"response": _response(row, redact)} if with_payloads else {}
            yield {**_columns(row, _ATTEMPTS), "worker": _worker(row), **opened}


def _response(row: Attempt, redact: Sequence[str]) -> dict[str, Any] | None:
    found = response_of(row)
    if found is None:
        return None
    body = redacted_text(found["body"], redact, truncated=found["truncated"])
    return {**found, "body": body}


def _letters(tenant_id: UUID, *, with_payloads: bool) -> Iterator[dict[str, Any]]:
    for page in _pages(DeadLetter.objects.filter(tenant_id=tenant_id)):
        payloads = payloads_of_letters(page) if with_payloads else {}
        masked = paths_of_versions({(row.task_id, row.revision) for row in page})
        for row in page:
            redact = masked.get((row.task_id, row.revision), [])
            opened = {}
            if with_payloads:
                opened = {"payload": redacted(payloads[row.id].payload, redact)}
            yield {**_columns(row, _LETTERS), **opened}


def _worker(row: Execution | Attempt) -> str:
    """Return the worker as the tenant sees it: hosts of the installation are not its data."""
    with process_sight.sight(False):
        return process_sight.shown_worker(row.worker)


def _columns(row: Any, columns: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in columns.split()}
