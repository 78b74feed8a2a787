"""Named filters and reads of executions, dead letters and bulk jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import Count, Max, Min, Q, TextField
from django.db.models.functions import Cast

from executions.choices import FINAL, JOB_ACTIVE, OPEN, Status
from shared.exceptions import NotFound
from shared.ids import first_id_at
from shared.payload_sight import is_hidden
from shared.querysets import TenantQuerySet
from tasks.definition import pools_called
from tasks.models import Task
from tasks.versions import FIRST_OF_STEPS
from wire.priorities import PRIORITIES

if TYPE_CHECKING:
    from executions.models.bulk_job import BulkJob
    from executions.models.dead_letter import DeadLetter
    from executions.models.erasure import Erasure
    from executions.models.execution import Execution
    from executions.models.workflow_run import EndedWorkflowRun


class ExecutionQuerySet(TenantQuerySet["Execution"]):
    """Reads of the ledger; each is bounded by tenant."""

    called = "execution"

    def for_tenant(self, tenant_id: UUID) -> ExecutionQuerySet:
        """Return the tenant's executions; span rows are not executions."""
        return self.filter(tenant_id=tenant_id, span_count__isnull=True)

    def get_for_tenant(self, tenant_id: UUID, row_id: UUID, *, lock: bool = False) -> Execution:
        """Return one of the tenant's, locked for a change if asked and open; raise NotFound.

        An ended execution never changes, so it is not locked.
        """
        if not lock:
            return super().get_for_tenant(tenant_id, row_id)
        found = self.for_tenant(tenant_id).held([row_id])
        if not found:
            raise NotFound(f"There is no such {self.called}.")
        return found[0]

    def of_task(self, task_id: UUID | models.OuterRef) -> ExecutionQuerySet:
        """Return the task's own: what its schedule and people made, and no steps of its runs."""
        return self.filter(task_id=task_id, revision__lt=FIRST_OF_STEPS)

    def held(self, ids: Sequence[UUID]) -> list[Execution]:
        """Return these in order of ids, and lock the open ones for a change.

        Reads open ones first: the second read finds an execution that ends meanwhile among the
        ended ones.
        """
        few = self.filter(pk__in=ids, pk__gte=min(ids), pk__lte=max(ids))
        open_ = few.filter(status__in=sorted(OPEN)).order_by("id").select_for_update(no_key=True)
        found = {row.pk: row for row in open_}
        ended = few.filter(status__in=sorted(FINAL)).order_by("id")
        found |= {row.pk: row for row in ended}
        return [found[one] for one in sorted(found)]

    def scheduled_between(
        self, since: datetime | None, until: datetime | None
    ) -> ExecutionQuerySet:
        """Return executions from ``since`` on and before ``until``, by the time in their id.

        So it reads few days. It is the nominal time, for runs outside the schedule the time they
        were made.
        """
        found = self
        if since is not None:
            found = found.filter(id__gte=first_id_at(since))
        if until is not None:
            found = found.filter(id__lt=first_id_at(until))
        return found

    def filtered(self, filters: Mapping[str, Any]) -> ExecutionQuerySet:
        """Return the rows that match the filters: status, since, until, task, label, pool,
        concurrency_key, q, ids.

        A filter that is absent or None matches all; every list and every bulk job reads them here.
        Filters of open work and of the last hour come from ``insight.list_filters``.
        """
        found = self.scheduled_between(filters.get("since"), filters.get("until"))
        if filters.get("id_from") is not None:
            found = found.filter(id__gte=filters["id_from"])
        if filters.get("ended_from") is not None:
            found = found.filter(finished_at__gte=filters["ended_from"]).without_steps()
        if filters.get("due_before") is not None:
            found = found.unstarted(filters["due_before"], or_queued=filters["or_queued"])
        if filters.get("status"):
            found = found.filter(status__in=filters["status"])
        if filters.get("pool") is not None:
            found = found.filter(pool__in=pools_called(filters["pool"]))
        if filters.get("label") is not None:
            labelled = Task.objects.labelled(filters["label"])
            found = found.filter(task_id__in=labelled.values("id"))
        exact = {"task": "task_id", "concurrency_key": "concurrency_key"}
        return _filtered(found, filters, exact)

    def without_steps(self) -> ExecutionQuerySet:
        """Return executions of tasks and runs of workflows, without the calls of their steps."""
        return self.filter(revision__lt=FIRST_OF_STEPS)

    def unstarted(self, due_before: datetime, *, or_queued: bool) -> ExecutionQuerySet:
        """Return work that was due by a moment and waits for a worker or, if asked, in one."""
        waits = Q(status__in=(Status.PENDING, Status.RETRYING), held=False)
        return self.filter(
            waits | Q(status=Status.QUEUED) if or_queued else waits, due_at__lte=due_before
        )

    def matching(self, text: str) -> ExecutionQuerySet:
        """Return executions whose task's name or labels or whose error contains the text."""
        return self.alias(task_labels=_LABELS).filter(_matches_task_or_error(text))

    def without_text(self, text: str) -> ExecutionQuerySet:
        """Return the executions that :meth:`matching` leaves out."""
        return self.alias(task_labels=_LABELS).exclude(_matches_task_or_error(text))

    def parts(self, tenant_id: UUID, filters: Mapping[str, Any]) -> list[ExecutionQuerySet]:
        """Return the rows of :meth:`filtered`, of one tenant, in parts that an index each finds.

        For a page of a list: a search may match few of millions of rows. Indexes
        executions_of_task_idx and executions_with_error_idx.
        """
        text = filters.get("q")
        if not text:
            found = self.filtered(filters)
            return found._by_index() if filters.get("due_before") is not None else [found]
        tasks = Task.objects.filter(tenant_id=tenant_id).matching(text).values_list("id", flat=True)
        few = list(tasks[: _FEW_TASKS + 1])
        if len(few) > _FEW_TASKS:
            # Enough tasks match to fill a page quickly.
            return [self.filtered(filters)]
        found = self.filtered({**filters, "q": None})
        failed = found.exclude(error_code="").filter(_matches_error(text))
        return [found.filter(task_id__in=few), failed]

    def _by_index(self) -> list[ExecutionQuerySet]:
        """Return unstarted work by the conditions of the indexes that find it among millions.

        Indexes open_executions_due_idx, open_executions_parked_idx and open_executions_leased_idx.
        """
        waits = self.filter(status__in=(Status.PENDING, Status.RETRYING), held=False)
        return [
            waits.filter(parked=False, priority__in=list(PRIORITIES)),
            waits.filter(parked=True),
            self.filter(status=Status.QUEUED),
        ]


class DeadLetterQuerySet(TenantQuerySet["DeadLetter"]):
    """Reads of dead letters; each is bounded by tenant."""

    called = "dead letter"

    def filtered(self, filters: Mapping[str, Any]) -> DeadLetterQuerySet:
        """Return the rows that match: resolved, resolution, task, error_signature, q, ids.

        A filter that is absent or None matches all; every list and every bulk job reads them here.
        """
        exact = {"resolved": "resolved", "task": "task_id", "error_signature": "error_signature"}
        found = _filtered(self, filters, exact)
        if filters.get("resolution") is not None:
            # Open letters have none; with this condition dead_letters_open_idx finds the others.
            found = found.filter(resolved=True, resolution=filters["resolution"])
        return found

    def resolutions(self, newest: int) -> list[str]:
        """Return the words by which the newest resolved letters were resolved, in order.

        Index dead_letters_open_idx, for at most ``newest`` letters.
        """
        looked_at = self.filter(resolved=True).order_by("-id").values("pk")[:newest]
        words = self.filter(pk__in=looked_at).order_by("resolution")
        return list(words.values_list("resolution", flat=True).distinct())

    def matching(self, text: str) -> DeadLetterQuerySet:
        """Return letters whose task's name or labels, error or note contains the text."""
        found = self.alias(task_labels=_LABELS)
        return found.filter(_matches_task_or_error(text) | Q(note__icontains=text))

    def without_text(self, text: str) -> DeadLetterQuerySet:
        """Return the letters that :meth:`matching` leaves out."""
        found = self.alias(task_labels=_LABELS)
        return found.exclude(_matches_task_or_error(text) | Q(note__icontains=text))

    def grouped_by_signature(self) -> models.QuerySet[Any]:
        """Return how many letters share each cause, most first: rows of plain values."""
        counted = self.values("error_signature").annotate(
            count=Count("id"),
            tasks=Count("task_id", distinct=True),
            first_seen=Min("created_at"),
            last_seen=Max("created_at"),
        )
        return counted.order_by("-count", "error_signature")


class EndedRunQuerySet(models.QuerySet["EndedWorkflowRun"]):
    """Reads of the ended takes of runs."""

    def latest_of(self, tenant_id: UUID, run_id: UUID) -> EndedWorkflowRun | None:
        """Return the latest take of one of the tenant's runs, None where none has ended."""
        return self.filter(pk=run_id, tenant_id=tenant_id).order_by("-take").first()


class BulkJobQuerySet(TenantQuerySet["BulkJob"]):
    """Reads of bulk jobs."""

    called = "bulk job"

    def active(self) -> BulkJobQuerySet:
        """Return the jobs that have not ended, of every tenant."""
        return self.filter(status__in=sorted(JOB_ACTIVE))


_Filterable = TypeVar("_Filterable", ExecutionQuerySet, DeadLetterQuerySet)
# As text: a search within JSON would look for the quoted word.
_LABELS = Cast("task__labels", TextField())
#: Maximum number of tasks that a search of executions names one by one.
_FEW_TASKS = 1000


def _matches_task_or_error(text: str) -> Q:
    return Q(task__name__icontains=text) | Q(task_labels__icontains=text) | _matches_error(text)


def _matches_error(text: str) -> Q:
    code = Q(error_code__icontains=text)
    # A search by a text that is not shown would tell it letter by letter.
    return code if is_hidden() else code | Q(error_message__icontains=text)


def _filtered(
    rows: _Filterable, filters: Mapping[str, Any], exact: Mapping[str, str]
) -> _Filterable:
    wanted = {column: filters.get(name) for name, column in exact.items()}
    found = rows.filter(**{column: value for column, value in wanted.items() if value is not None})
    if filters.get("ids") is not None:
        found = found.filter(id__in=filters["ids"])
    return found.matching(filters["q"]) if filters.get("q") else found


class ErasureQuerySet(TenantQuerySet["Erasure"]):
    """Reads of the certificates of erasures."""

    called = "erasure"
