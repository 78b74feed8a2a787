"""Runs of workflows as they are now: their latest takes, and what their steps do or wait for.

A run is known by the execution of its first take. A page of runs, and a run with all its steps,
cost a number of queries that does not depend on how many steps there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Length

from executions.choices import COMPENSATION, FINAL, Status
from executions.models import EndedWorkflowRun, Execution, WorkflowRun, WorkflowStep
from executions.querysets import ExecutionQuerySet
from shared.encryption import DecryptionFailed
from shared.exceptions import NotFound
from shared.ids import first_id_at, moment_of
from shared.sql import rows
from tasks.definition import WORKFLOW_POOL
from tasks.models import Task
from tasks.workflow.step_states import ENDED, StepState
from workflows.advance.scope import STATUS_OF
from workflows.plan import Plan, plan_of

_MILLISECOND = timedelta(milliseconds=1)
#: What has not begun is at its first state; the run's row comes with its begin.
_UNBEGUN = b""
#: A step that has ended, and is or was to be undone.
_UNDO_STATUS: Mapping[StepState, str] = {
    StepState.COMPENSATING: "RUNNING",
    StepState.COMPENSATED: "SUCCEEDED",
    StepState.NOT_COMPENSATED: "FAILED",
}
_TO_UNDO = frozenset(_UNDO_STATUS)
#: Bytes, as they are kept, of an output that a page with all steps shows; of JSON they are fewer.
SHORT_OUTPUT = 8192
_OUTPUT = ("step", "take", "sealed_output")


class OpenStep(NamedTuple):
    """An execution of a step, or of an item, that has not ended."""

    run_id: UUID
    step: int
    item: int
    id: UUID
    status: str
    attempt: int
    started_at: datetime | None
    due_at: datetime
    held: bool
    parked: bool


class Wait(NamedTuple):
    """What a step waits for besides an execution."""

    run_id: UUID
    step: int
    kind: str
    began_at: datetime
    due_at: datetime | None
    name: str
    correlation: str


class FanOut(NamedTuple):
    """A fan-out under way."""

    run_id: UUID
    step: int
    total: int
    begun: int
    done: int
    began_at: datetime


@dataclass(frozen=True, slots=True)
class Take:
    """The latest take of a run; ``row`` is None where it has not begun, or never will."""

    execution: Execution
    row: WorkflowRun | EndedWorkflowRun | None

    @property
    def run_id(self) -> UUID:
        """Return the run, which has the id of its first take's execution."""
        return self.execution.id if self.row is None else self.row.id

    @property
    def number(self) -> int:
        """Return the number of the take, from 1."""
        return 1 if self.row is None else self.row.take

    @property
    def states(self) -> bytes:
        """Return the state of each step, by its number."""
        return _UNBEGUN if self.row is None else bytes(self.row.states)

    @property
    def takes(self) -> bytes:
        """Return the take that began each step."""
        return _UNBEGUN if self.row is None else bytes(self.row.takes)


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run with what its open steps do; ``plan`` is None where no key opens its definition."""

    take: Take
    plan: Plan | None
    open: Mapping[int, OpenStep] = field(default_factory=dict)
    waits: Mapping[int, Wait] = field(default_factory=dict)
    fans: Mapping[int, FanOut] = field(default_factory=dict)
    #: Steps that are or were undone although they had not succeeded.
    failed: frozenset[int] = frozenset()

    @property
    def steps(self) -> Mapping[int, Mapping[str, Any]]:
        """Return the steps by number, in the order of the definition."""
        return {} if self.plan is None else self.plan.steps

    def state(self, number: int) -> StepState:
        """Return the state of a step as the run's row has it."""
        states = self.take.states
        return StepState(states[number]) if number < len(states) else StepState.PENDING

    def take_of(self, number: int) -> int:
        """Return the take that began the step, 0 for none."""
        if self.state(number) is StepState.PENDING:
            # Its take is the one whose items it will keep.
            return 0
        takes = self.take.takes
        return takes[number] if number < len(takes) else 0

    def fans_out(self, number: int) -> bool:
        """Return whether the step runs once for each item of a list."""
        return self.steps[number].get("for_each") is not None

    def status(self, number: int) -> str:
        """Return the status of a step as answers show it."""
        state = self.state(number)
        if state in _TO_UNDO:
            return "FAILED" if number in self.failed else "SUCCEEDED"
        if state in ENDED:
            return STATUS_OF[state]
        if state is StepState.PENDING:
            return self._unbegun
        if self.fans_out(number):
            return "RUNNING"
        if number in self.waits:
            return "WAITING"
        return open_status(self.open[number].status) if number in self.open else "RUNNING"

    def is_to_undo(self, number: int) -> bool:
        """Return whether the step is being undone, was undone, or could not be."""
        return self.state(number) in _TO_UNDO

    def undo_status(self, number: int) -> str | None:
        """Return the status of what undoes a step, as far as the run's row tells; None without."""
        return _UNDO_STATUS.get(self.state(number))

    @property
    def _unbegun(self) -> str:
        """Return the status of a step that has not begun: of a run that is over, it never will."""
        if self.take.execution.status not in FINAL:
            return "PENDING"
        return "CANCELLED" if self.take.execution.status == Status.CANCELLED else "SKIPPED"


def open_status(status: str) -> str:
    """Return how answers call the status of a step's execution: what is due waits for a worker."""
    return "QUEUED" if status == Status.PENDING else str(status)


def runs_of(tenant_id: UUID, task_id: UUID | OuterRef) -> ExecutionQuerySet:
    """Return the first takes of a workflow's runs: one execution for each run."""
    found = Execution.objects.for_tenant(tenant_id).of_task(task_id).filter(pool=WORKFLOW_POOL)
    return found.filter(IS_FIRST)


def with_status(runs: ExecutionQuerySet, statuses: Sequence[str]) -> ExecutionQuerySet:
    """Return the runs whose latest take has one of these statuses."""
    live = WorkflowRun.objects.filter(pk=OuterRef("pk")).values("execution_id")
    ended = EndedWorkflowRun.objects.filter(pk=OuterRef("pk")).order_by("-take")
    under_way = Execution.objects.filter(pk=OuterRef("live_take")).values("status")
    latest = Coalesce(Subquery(under_way), Subquery(ended.values("status")[:1]), F("status"))
    found = runs.alias(live_take=Subquery(live)).alias(latest_status=latest)
    return found.filter(latest_status__in=statuses)


def latest_run(tenant_id: UUID, task_id: UUID, now: datetime) -> Execution | None:
    """Return the first take of the run whose time has come last; else of the next one ahead."""
    runs = runs_of(tenant_id, task_id)
    come = runs.scheduled_between(None, now + _MILLISECOND).order_by("-id").first()
    return come or runs.scheduled_between(now, None).order_by("id").first()


def latest_runs(tenant_id: UUID, task_ids: Sequence[UUID], now: datetime) -> dict[UUID, Execution]:
    """Return the first take of each workflow's latest run that has come, in two queries."""
    come = runs_of(tenant_id, OuterRef("pk")).scheduled_between(None, now + _MILLISECOND)
    newest = Subquery(come.order_by("-id").values("pk")[:1])
    found = dict(Task.objects.filter(pk__in=task_ids).values_list("pk", newest))
    firsts = Execution.objects.in_bulk([one for one in found.values() if one])
    return {task_id: firsts[one] for task_id, one in found.items() if one in firsts}


def latest_takes(firsts: Sequence[Execution]) -> list[Take]:
    """Return the latest take of each run, from the executions of their first takes."""
    if not firsts:
        return []
    ids = [first.id for first in firsts]
    # Those under way first: a run that ends between the two reads is found by the second.
    found: dict[UUID, WorkflowRun | EndedWorkflowRun] = dict(WorkflowRun.objects.in_bulk(ids))
    ended = EndedWorkflowRun.objects.filter(pk__in=ids, pk__gte=min(ids), pk__lte=max(ids))
    for last in ended.order_by("id", "-take").distinct("id"):
        found.setdefault(last.id, last)
    later = {row.execution_id for row in found.values()} - set(ids)
    executions = {first.id: first for first in firsts} | Execution.objects.in_bulk(later)
    return [
        Take(executions.get(row.execution_id, first), row)
        if (row := found.get(first.id))
        else Take(first, None)
        for first in firsts
    ]


def find_take(tenant_id: UUID, run_id: UUID) -> Take:
    """Return the latest take of one of the tenant's runs; raise NotFound."""
    row: WorkflowRun | EndedWorkflowRun | None
    row = WorkflowRun.objects.filter(pk=run_id, tenant_id=tenant_id).first()
    row = row or EndedWorkflowRun.objects.latest_of(tenant_id, run_id)
    executions = Execution.objects.for_tenant(tenant_id).filter(pool=WORKFLOW_POOL)
    if row is None:
        execution = executions.filter(IS_FIRST, pk=run_id).first()
    else:
        execution = executions.filter(pk=row.execution_id).first()
    if execution is None:
        raise NotFound("There is no such run.")
    return Take(execution, row)


def see(takes: Sequence[Take]) -> list[SeenRun]:
    """Return the runs of these takes with what their open steps do, in four queries at most."""
    under_way = [take.run_id for take in takes if take.execution.status == Status.RUNNING]
    open_ = _by_step(OpenStep, "run_reads/open_steps", under_way)
    waits = _by_step(Wait, "run_reads/waits", under_way)
    fans = _by_step(FanOut, "run_reads/fans", under_way)
    failed = _failed_before_undone(takes)
    return [
        SeenRun(
            take,
            _plan(take),
            open_.get(take.run_id, {}),
            waits.get(take.run_id, {}),
            fans.get(take.run_id, {}),
            failed.get(take.run_id, frozenset()),
        )
        for take in takes
    ]


def number_of(seen: SeenRun, key: str) -> int:
    """Return the number of a step by its key; raise NotFound."""
    for number, step in seen.steps.items():
        if step["key"] == key:
            return number
    raise NotFound(f"The run has no step {key[:100]!r}.")


def ends_of(seen: SeenRun, number: int | None = None) -> dict[int, WorkflowStep]:
    """Return the end of each step of a run, or of one, of the take that counts."""
    found = all_ends_of(seen.take.run_id).filter(item=-1)
    if number is not None:
        found = found.filter(step=number)
    return {end.step: end for end in found if end.take == seen.take_of(end.step)}


def outline_ends_of(seen: SeenRun, shown: Collection[int]) -> dict[int, WorkflowStep]:
    """Return the ends as above, with the outputs only of the steps that are shown.

    An output that is not short is left in the database, since a run may have a hundred of a MiB.
    ``output_bytes`` is the size of each.
    """
    size = {"output_bytes": Length("sealed_output")}
    found = all_ends_of(seen.take.run_id).filter(item=-1)
    short = found.filter(step__in=shown).alias(**size).filter(output_bytes__lte=SHORT_OUTPUT)
    outputs = {(step, take): kept for step, take, kept in short.values_list(*_OUTPUT)}
    ends = {}
    for end in found.annotate(**size).defer("sealed_output"):
        if end.take == seen.take_of(end.step):
            end.sealed_output = outputs.get((end.step, end.take))
            ends[end.step] = end
    return ends


def compensations_of(seen: SeenRun) -> dict[int, WorkflowStep]:
    """Return the end of what undid each step of a run, of the latest take that did so."""
    if not any(seen.is_to_undo(number) for number in seen.steps):
        return {}
    found = all_ends_of(seen.take.run_id).filter(item=COMPENSATION).order_by("take")
    return {end.step: end for end in found}


def attempts_of_steps(ends: Iterable[WorkflowStep]) -> dict[UUID, int]:
    """Return how many attempts each execution of ended steps had, in one query."""
    ids = [end.execution_id for end in ends if end.execution_id is not None]
    if not ids:
        return {}
    found = Execution.objects.filter(pk__in=ids, pk__gte=min(ids), pk__lte=max(ids))
    return dict(found.values_list("id", "attempt"))


#: A later take has its run's id and no step; a run that a step began has a step.
IS_FIRST = Q(run_id__isnull=True) | Q(step__isnull=False)


def _plan(take: Take) -> Plan | None:
    version = take.execution.revision if take.row is None else take.row.version
    try:
        return plan_of(take.execution.task_id, version)
    except DecryptionFailed:
        return None


def _failed_before_undone(takes: Sequence[Take]) -> dict[UUID, frozenset[int]]:
    """Return the undone steps of each run that had failed: what they did was not known."""
    undone = {take.run_id: take.takes for take in takes if not _TO_UNDO.isdisjoint(take.states)}
    if not undone:
        return {}
    bounds = [bounds_of(run_id) for run_id in undone]
    low, high = min(one["low"] for one in bounds), max(one["high"] for one in bounds)
    ends = WorkflowStep.objects.filter(run_id__in=undone, id__gte=low, id__lt=high, item=-1)
    found: dict[UUID, set[int]] = defaultdict(set)
    for run_id, step, take in ends.filter(status="FAILED").values_list("run_id", "step", "take"):
        if undone[run_id][step] == take:
            found[run_id].add(step)
    return {run_id: frozenset(steps) for run_id, steps in found.items()}


def all_ends_of(run_id: UUID) -> Any:
    """Return every end of a run's steps and items, of all takes."""
    bounds = bounds_of(run_id)
    ids = {"id__gte": bounds["low"], "id__lt": bounds["high"]}
    return WorkflowStep.objects.filter(run_id=run_id, **ids)


def bounds_of(run_id: UUID) -> dict[str, UUID]:
    """Return the bounds of the ids of a run's steps, which have the time of their run."""
    moment = moment_of(run_id)
    return {"low": first_id_at(moment), "high": first_id_at(moment + _MILLISECOND)}


def _by_step(kind: Any, statement: str, run_ids: Sequence[UUID]) -> dict[UUID, dict[int, Any]]:
    """Return the rows of a statement by run and step."""
    by_run: dict[UUID, dict[int, Any]] = defaultdict(dict)
    for row in rows(statement, {"runs": list(run_ids)}) if run_ids else ():
        by_run[row[0]][row[1]] = kind._make(row)
    return by_run
