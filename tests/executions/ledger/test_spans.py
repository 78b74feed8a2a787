"""The spans of attempts, from what the ledger knows of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction

from executions import transitions
from executions.loop.clocks import database_now
from executions.models import Execution
from executions.triggering.triggers import retry_execution
from shared.conf import conf
from shared.trace_context import context_of
from shared.tracing import sending
from shared.tracing.config import Tracing
from shared.tracing.sampling import context_of_attempt
from shared.tracing.spans import Kind, Link, Part, Span, part_of
from tenants.models import Tenant
from tests.architecture import tree
from tests.executions.leasing import accepted, call, take_one, work
from tests.factories import ACTOR, finish, make_execution, release
from tests.support.workflow_steps import work_on
from tests.support.workflows import begin_run, calls, go_on, make_workflow

pytestmark = pytest.mark.django_db

OnCommit = Callable[..., AbstractContextManager[object]]


@pytest.fixture
def sent(settings: Any, monkeypatch: pytest.MonkeyPatch) -> list[Span]:
    """Return the spans that were sent, of traces that are all recorded."""
    settings.PUNCTUAL = replace(conf(), tracing=Tracing("http://a.example"))
    found: list[Span] = []

    def emit(spans: Sequence[Span]) -> None:
        found.extend(spans)

    monkeypatch.setattr(sending, "emit", emit)
    return found


def whole(spans: list[Span], execution: Execution, attempt: int = 1) -> Span:
    own = part_of(execution.id.hex, attempt, Part.ATTEMPT)
    [found] = [one for one in spans if one.span_id == own]
    return found


def to_attempt(execution: Execution, attempt: int) -> Link:
    context = context_of_attempt(execution.id.hex, execution.trace_context, attempt)
    return Link(context.trace_id, part_of(execution.id.hex, attempt, Part.ATTEMPT))


def test_an_attempt_and_its_stages_have_the_times_of_the_ledger(
    alpha: Tenant, sent: list[Span], on_commit: OnCommit
):
    execution = make_execution(alpha)
    [row] = release()

    with on_commit(execute=True):
        finish(row)

    execution.refresh_from_db()
    attempt, *stages = sent
    assert (attempt.name, attempt.kind, attempt.error) == ("process default", Kind.CONSUMER, "")
    assert attempt.start == execution.created_at.timestamp()
    assert attempt.attributes == {
        "messaging.system": "punctual",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "default",
        "messaging.message.id": str(execution.id),
        "punctual.tenant.id": str(alpha.id),
        "punctual.task.id": str(execution.task_id),
        "punctual.execution.id": str(execution.id),
        "punctual.execution.trigger": "schedule",
        "punctual.attempt": 1,
        "punctual.attempt.outcome": "succeeded",
    }
    assert [one.name for one in stages] == ["materialize", "dispatch", "queue", "record"]
    assert {one.parent_id for one in stages} == {attempt.span_id}
    assert {one.context.trace_id for one in sent} == {execution.id.hex}
    dispatch, queue, record = stages[1:]
    assert execution.queued_at
    assert execution.started_at
    assert execution.finished_at
    assert dispatch.end == queue.start == execution.queued_at.timestamp()
    assert (queue.end, record.start) == (
        execution.started_at.timestamp(),
        execution.finished_at.timestamp(),
    )
    assert attempt.end == record.end >= record.start


def test_a_retry_begins_where_the_attempt_before_ended_and_links_to_it(
    alpha: Tenant, sent: list[Span], on_commit: OnCommit
):
    execution = make_execution(alpha)
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    Execution.objects.filter(pk=execution.pk).update(trace_context=f"{trace}-01-{'1' * 16}")
    with on_commit(execute=True):
        [row] = release()
        finish(row, "RETRYING")
        Execution.objects.filter(pk=execution.pk).update(due_at=database_now())
        [row] = release()
        finish(row, "FAILED", reason="attempts_exhausted")

    execution.refresh_from_db()
    first, second = (whole(sent, execution, number) for number in (1, 2))
    assert (first.context.trace_id, first.parent_id, first.link) == (trace, "1" * 16, None)
    assert (second.parent_id, second.link) == ("", to_attempt(execution, 1))
    assert second.context.trace_id not in (trace, execution.id.hex)
    assert (first.error, second.error) == ("http_status", "http_status")
    before = next(one for one in sent if one.name == "record")
    assert second.start == before.start
    assert [one.name for one in sent].count("materialize") == 1


def test_a_stale_report_writes_no_span(alpha: Tenant, sent: list[Span], on_commit: OnCommit):
    make_execution(alpha)
    [row] = release()
    with on_commit(execute=True):
        finish(row)
    written = len(sent)

    with on_commit(execute=True):
        finish(row)

    assert len(sent) == written


def test_what_a_receiver_does_after_its_answer_is_a_part_of_the_attempt(
    alpha: Tenant, sent: list[Span], on_commit: OnCommit
):
    execution, token = accepted(alpha)

    with on_commit(execute=True):
        assert call(execution.id, "complete", token).status_code == 200

    [callback] = [one for one in sent if one.name == "callback"]
    assert execution.accepted_at
    assert callback.start == execution.accepted_at.timestamp()
    assert callback.parent_id == whole(sent, execution).span_id


def test_leased_work_is_processed_in_the_pool_as_its_tenant_calls_it(
    alpha: Tenant, sent: list[Span], on_commit: OnCommit
):
    work(alpha)
    lease = take_one(alpha)

    with on_commit(execute=True):
        assert call(lease.execution_id, "complete", lease.token).status_code == 200

    assert [one.name for one in sent if one.kind is Kind.CONSUMER] == ["process batch"]


def test_the_retry_of_an_execution_links_to_its_last_attempt(
    alpha: Tenant, sent: list[Span], on_commit: OnCommit
):
    former = make_execution(alpha, "FAILED")
    made = retry_execution(alpha.id, former.id, None, actor=ACTOR)
    [row] = release()

    with on_commit(execute=True):
        finish(row)

    former.refresh_from_db()
    assert whole(sent, made).link == to_attempt(former, former.attempt)


def test_what_fails_without_an_attempt_has_a_span(
    alpha: Tenant, sent: list[Span], on_commit: OnCommit
):
    execution = make_execution(alpha, "CANCELLED")
    Execution.objects.filter(pk=execution.pk).update(
        status="FAILED", reason="dependency_failed", attempt=0, finished_at=database_now()
    )

    with on_commit(execute=True):
        transitions.fail_unstarted([execution.id])

    found = whole(sent, execution)
    assert found.error == "dependency_failed"
    assert [one.name for one in sent] == ["process default", "materialize"]


def test_a_run_of_a_workflow_is_a_pipeline_and_its_steps_link_to_it(
    alpha: Tenant, sent: list[Span], on_commit: OnCommit
):
    with on_commit(execute=True):
        run_id = begin_run(make_workflow(alpha, [calls("a"), calls("b", "a")]))
        for _ in range(2):
            work_on(run_id)
            go_on(run_id)

    [run] = [one for one in sent if one.name == "run workflow"]
    steps = [one for one in sent if one.name == "process default"]
    assert run.kind is Kind.SERVER
    assert run.attributes["cicd.pipeline.result"] == "success"
    assert run.attributes["cicd.pipeline.run.id"] == str(run_id)
    assert len(steps) == 2
    assert {one.link for one in steps} == {Link(run.context.trace_id, run.span_id)}
    assert {one.attributes["cicd.pipeline.run.id"] for one in steps} == {str(run_id)}
    assert {one.attributes["cicd.pipeline.task.run.result"] for one in steps} == {"success"}


@pytest.mark.parametrize("status", ["SUCCEEDED", "RETRYING"])
def test_a_trace_that_is_not_recorded_is_not_read(
    alpha: Tenant,
    sent: list[Span],
    on_commit: OnCommit,
    monkeypatch: pytest.MonkeyPatch,
    status: str,
):
    execution = make_execution(alpha)
    Execution.objects.filter(pk=execution.pk).update(trace_context=f"{'4' * 32}-00")
    [row] = release()
    read: list[Any] = []
    monkeypatch.setattr("executions.ledger.spans._write", read.append)

    with on_commit(execute=True):
        finish(row, status)

    assert read == []


def test_while_traces_are_off_nothing_waits_for_the_commit(
    alpha: Tenant, on_commit: OnCommit, monkeypatch: pytest.MonkeyPatch
):
    make_execution(alpha)
    [row] = release()

    def refused(*arguments: Any) -> None:
        raise AssertionError("a span is made")

    monkeypatch.setattr(sending, "emit", refused)
    monkeypatch.setattr("executions.ledger.spans.is_recorded", refused)
    with on_commit(execute=True):
        finish(row)


def test_while_traces_are_off_no_process_loads_the_exporter():
    """The processes of the loops and the web load these modules.

    The client of Redis loads a part of the SDK by itself, where that is installed.
    """
    loads = "worker.loop", "executions.transitions", "api.protocol.middleware"
    code = (
        "import django, sys; django.setup();"
        f"import {', '.join(loads)};"
        "sys.exit(any(name.startswith('opentelemetry.exporter') for name in sys.modules))"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tree.REPOSITORY,
        env={"DJANGO_SETTINGS_MODULE": "scheduler_site.settings_test", "PATH": ""},
        check=False,
    )

    assert ended.returncode == 0


def test_a_fault_in_the_making_of_spans_fails_no_execution(
    alpha: Tenant, sent: list[Span], on_commit: OnCommit, monkeypatch: pytest.MonkeyPatch
):
    execution = make_execution(alpha)
    [row] = release()

    def broken(*arguments: Any) -> Iterator[Any]:
        raise KeyError("a fault of ours")

    monkeypatch.setattr("executions.ledger.spans.spans_of", broken)
    with on_commit(execute=True):
        finish(row)

    execution.refresh_from_db()
    assert execution.status == "SUCCEEDED"
    assert not transaction.get_connection().needs_rollback
    assert context_of(execution.id.hex, None).trace_id == execution.id.hex
