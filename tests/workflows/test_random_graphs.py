"""Runs of random graphs on the real ledger, judged by an oracle that knows only their rules.

No step starts before its dependencies allow; none runs twice without a retry; every run ends; its
end is that of its policy; the counts are those of a recount.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from executions import transitions
from executions.loop.clocks import database_now
from executions.models import EndedWorkflowRun, Execution, WorkflowRun, WorkflowStep
from executions.payloads import payload_of
from executions.transitions import Finish
from executions.triggering.triggers import Override, run_task
from shared.encryption import seal_json
from shared.exceptions import Conflict
from shared.sealing_contexts import result_context
from tasks.workflow.step_states import StepState
from tenants.models import Tenant
from tests.factories import ACTOR, WORKER, make_tenant, release
from tests.support.random_workflows import INPUT, Drawn, draw_end, draw_workflow
from tests.support.workflow_oracle import Take, allows, end_of
from tests.support.workflows import EVERYWHERE, go_on, make_workflow
from workflows.advance import begins, stage
from workflows.advance.kept_items import KEPT
from workflows.begin import begin_due
from workflows.control import pause_run, resume_run
from workflows.plan import plan_of
from workflows.retrying import Retry, retry_run
from workflows.stages import fire

pytestmark = pytest.mark.django_db
#: ``python -m bench.workflows graphs`` asks for more.
RUNS = 30
CHUNKS = -(-int(os.environ.get("WORKFLOW_GRAPHS", "300")) // RUNS)
#: Chunks of each run of the tests; the others are of the long ones.
QUICK_CHUNKS = 4
MOST_TAKES, MOST_ROUNDS = 3, 2000


class Driven:
    """A run of a drawn workflow: what its workers reported, and what was seen of it."""

    def __init__(self, tenant: Tenant, random: Random) -> None:
        self.drawn: Drawn = draw_workflow(random)
        self.task = make_workflow(tenant, self.drawn.steps, on_failure=self.drawn.on_failure)
        self.run_id: UUID = run_task(tenant.id, self.task.id, Override(INPUT), actor=ACTOR).id
        self.steps = {step["key"]: step for step in self.drawn.steps}
        self.keys = plan_of(self.task.id, 1).keys
        self.take, self.paused = 1, False
        self.ended: dict[tuple[str, int], str] = {}
        self.before: dict[str, str] = {}
        self.retried_from: str | None = None
        self.seen: set[UUID] = set()

    def states(self, row: Any) -> dict[str, str]:
        return {key: StepState(row.states[number]).name for number, key in self.keys.items()}

    def may_run(self, key: str) -> bool:
        """Say whether this take may run a step: a retry runs no step that it can keep."""
        if self.retried_from is None:
            return self.before.get(key) != "SUCCEEDED"
        return key in self.behind

    @property
    def behind(self) -> set[str]:
        """The step that the retry began from, and all that depend on it."""
        found = {self.retried_from}
        for step in self.drawn.steps:
            if found.intersection(step["depends_on"]):
                found.add(step["key"])
        return {key for key in found if key}


class Drive:
    """Workers, recorders and schedulers of many runs, by one seed."""

    def __init__(self, tenant: Tenant, seed: int) -> None:
        self.random = Random(seed)
        self.tenant = tenant
        self.runs = {one.run_id: one for one in self._drawn()}
        self.open = set(self.runs)
        begin_due(EVERYWHERE, 1000)
        self._advance(sorted(self.open))

    def _drawn(self) -> list[Driven]:
        return [Driven(self.tenant, self.random) for _ in range(RUNS)]

    def work(self) -> None:
        """Let workers end what they have, in any order, until no run is open."""
        for _ in range(MOST_ROUNDS):
            if not self.open:
                return
            told = fire(EVERYWHERE)
            ended = self._end_some()
            # The process of some ends dies before it advances their runs.
            lost = {run_id for run_id in ended if self.random.random() < 0.1}
            idle = not ended and not told
            self._advance(sorted(self.open if idle else {*ended, *told} - lost))
            self._turn_some()
        raise AssertionError(f"these runs do not end: {sorted(map(str, self.open))}")

    def _end_some(self) -> set[UUID]:
        release()
        held = list(Execution.objects.filter(run_id__in=self.open, status="QUEUED").order_by("id"))
        chosen = [row for row in held if self.random.random() < 0.7] or held[:1]
        if chosen:
            transitions.finish([self._end(row) for row in chosen])
        return {row.run_id for row in chosen if row.run_id}

    def _end(self, row: Execution) -> Finish:
        run = self.runs[_run_of(row)]
        key, item = run.keys[row.step or 0], -1 if row.item is None else row.item
        status = draw_end(self.random, can_retry=row.attempt + 1 < row.max_attempts)
        if status != "RETRYING":
            assert (key, item) not in run.ended, f"{key}[{item}] has run twice"
            run.ended[key, item] = status
        now, succeeded = database_now(), status == "SUCCEEDED"
        outcome = status if status in ("SUCCEEDED", "CANCELLED") else "FAILED"
        sealed = (
            seal_json(f"{key} {item}", result_context(row.tenant_id, row.id)) if succeeded else None
        )
        parts: dict[str, Any] = {} if succeeded else {"error_code": "http_status"}
        return Finish(
            row.id,
            row.fencing_token or 0,
            row.attempt + 1,
            status,
            outcome,
            worker=WORKER,
            started_at=now,
            finished_at=now,
            sealed_result=sealed,
            **parts,
        )

    def _advance(self, run_ids: Sequence[UUID]) -> None:
        go_on(*run_ids)
        self._look()

    def _turn_some(self) -> None:
        """Pause some runs and resume them; retry some of those that have ended."""
        for run_id in sorted(self.open):
            run = self.runs[run_id]
            if not run.paused and self.random.random() < 0.02:
                try:
                    pause_run(self.tenant.id, run_id, actor=ACTOR)
                except Conflict:
                    continue
                run.paused = True
            elif run.paused and self.random.random() < 0.5:
                resume_run(self.tenant.id, run_id, actor=ACTOR)
                run.paused = False
        self._look()

    def _look(self) -> None:
        live = {row.id: row for row in WorkflowRun.objects.filter(pk__in=self.open)}
        rows = Execution.objects.filter(run_id__in=self.open, step__isnull=False)
        by_run: dict[UUID, list[Execution]] = defaultdict(list)
        for row in rows:
            by_run[_run_of(row)].append(row)
        for run_id in sorted(self.open):
            run = self.runs[run_id]
            if run_id in live:
                check_starts(run, run.states(live[run_id]), by_run[run_id])
            else:
                self._judge(run, by_run[run_id])

    def _judge(self, run: Driven, rows: Sequence[Execution]) -> None:
        row = EndedWorkflowRun.objects.get(pk=run.run_id, take=run.take)
        states = run.states(row)
        check_starts(run, states, rows)
        check_end(run, row, states, rows)
        run.before, run.paused = states, False
        self.open.discard(run.run_id)
        if run.take < MOST_TAKES and self.random.random() < 0.6:
            self._retry(run, states)

    def _retry(self, run: Driven, states: dict[str, str]) -> None:
        key = self.random.choice(sorted(states)) if self.random.random() < 0.4 else None
        if key is None and end_of(states) == "SUCCEEDED":
            with pytest.raises(Conflict):
                retry_run(self.tenant.id, run.run_id, Retry(), actor=ACTOR)
            return
        run.take = retry_run(self.tenant.id, run.run_id, Retry(key=key), actor=ACTOR)
        run.ended, run.retried_from = {}, key
        self.open.add(run.run_id)
        begin_due(EVERYWHERE, 1000)
        go_on(run.run_id)


def _run_of(row: Execution) -> UUID:
    assert row.run_id is not None
    return row.run_id


def check_starts(run: Driven, states: dict[str, str], rows: Sequence[Execution]) -> None:
    """Check what has begun since the last look."""
    begun = Counter((row.step, row.item, row.take) for row in rows)
    assert set(begun.values()) <= {1}, f"{run.drawn} has run something twice"
    for row in rows:
        if row.id not in run.seen and row.take == run.take:
            step = run.steps[run.keys[row.step or 0]]
            before = [states[key] for key in step["depends_on"]]
            condition = step.get("condition", "all_success")
            assert allows(condition, before), f"{step} began after {before}"
            assert run.may_run(step["key"]), f"{step} runs again in take {run.take}"
    run.seen.update(row.id for row in rows)
    open_items = Counter(
        run.keys[row.step or 0]
        for row in rows
        if (row.item or 0) >= 0 and row.status in ("PENDING", "QUEUED", "RETRYING")
    )
    for key, count in open_items.items():
        assert count <= run.steps[key].get("max_parallel", 1)


def check_end(
    run: Driven, row: EndedWorkflowRun, states: dict[str, str], rows: Sequence[Execution]
) -> None:
    """Check how a take has ended, against the oracle."""
    ends = list(WorkflowStep.objects.filter(run_id=run.run_id).order_by("place"))
    items: dict[str, dict[int, str]] = defaultdict(dict)
    for end in ends:
        if end.take == run.take and end.item >= 0:
            items[run.keys[end.step]][end.item] = end.status
    kept = {key for number, key in run.keys.items() if row.takes[number] < run.take}
    take = Take(
        run.drawn.steps,
        run.drawn.on_failure,
        states,
        kept=kept,
        ended=run.ended,
        executed={
            (run.keys[one.step or 0], -1 if one.item is None else one.item)
            for one in rows
            if one.take == run.take
        },
        items=items,
    )
    assert take.problems() == [], f"take {run.take} of {run.drawn}"
    assert row.status == end_of(states)
    if run.retried_from is None:
        assert {run.before[key] for key in kept} <= {"SUCCEEDED", "SKIPPED"}
    assert run.retried_from not in kept
    assert all(states[key] == run.before[key] for key in kept)
    own = {end.place: end for end in ends if end.reason != KEPT}
    assert list(own) == list(range(1, row.ends + 1))
    for end in ends:
        if end.reason == KEPT:
            assert run.retried_from is None or end.take < run.take
            assert own[end.place].status == end.status == "SUCCEEDED"
            assert (own[end.place].step, own[end.place].item) == (end.step, end.item)
            assert end.take < run.take or (run.keys[end.step], end.item) not in take.executed
    for (key, item), status in run.ended.items():
        assert item < 0 or items[key][item] == status
    check_counts(run, take, rows)


def check_counts(run: Driven, take: Take, rows: Sequence[Execution]) -> None:
    """Check the counts of fan-outs that later steps were given."""
    for row in rows:
        step = run.steps[run.keys[row.step or 0]]
        if row.take != run.take or not step.get("payload"):
            continue
        for name, given in payload_of(row).items():
            if given is not None and "for_each" in run.steps[name] and name not in take.kept:
                counts = (given["succeeded"], given["failed"], given["skipped"])
                assert counts == take.counts(name)
                assert len(given["outputs"]) == take.total_of(run.steps[name])


def left_over() -> dict[str, int]:
    """Count the rows that only runs under way have."""
    tables = ("workflow_runs", "workflow_waits", "workflow_fans", "workflow_inbox")
    found = {}
    with connection.cursor() as cursor:
        for table in (*tables, "open_executions"):
            cursor.execute(f"SELECT count(*) FROM {table}")
            found[table] = int(cursor.fetchone()[0])
    return {table: count for table, count in found.items() if count}


@pytest.mark.parametrize(
    "chunk",
    [
        pytest.param(chunk, marks=pytest.mark.slow if chunk >= QUICK_CHUNKS else ())
        for chunk in range(CHUNKS)
    ],
)
def test_runs_of_random_graphs_do_what_their_rules_say(monkeypatch: pytest.MonkeyPatch, chunk: int):
    if chunk % 2:
        # Advances that end in the middle, and go on in the next one.
        monkeypatch.setattr(begins, "MOST_BEGINS", 2)
        monkeypatch.setattr(stage, "MOST_TOLD", 5)
        monkeypatch.setattr(stage, "MOST_RUNS", 7)
    drive = Drive(make_tenant(), seed=chunk)

    drive.work()

    assert left_over() == {}
