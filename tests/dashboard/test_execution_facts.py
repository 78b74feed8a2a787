"""What the pictures of one execution are drawn from."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.execution_facts import attempt_facts, state_visits, stay_of, traces_of
from events.models import Event
from executions import transitions
from executions.attempts import attempts_of
from executions.loop.clocks import database_now
from executions.models import Attempt, Execution
from insight.presentation.execution_detail import present_execution_detail
from shared.conf import conf
from shared.ids import new_id
from shared.tracing.config import Tracing
from shared.tracing.sampling import context_of_attempt
from tasks.definition import TARGET_DEFAULTS
from tests.factories import finish, make_execution, release
from tests.tasks.bodies import POOL

AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
HANDLER = {"kind": "handler", "cancel_grace_seconds": 5}
PATHS = {
    "PENDING": ["PENDING"],
    "QUEUED": ["PENDING", "QUEUED"],
    "RUNNING": ["PENDING", "QUEUED", "RUNNING"],
    "SUCCEEDED": ["PENDING", "QUEUED", "RUNNING", "SUCCEEDED"],
    "RETRYING": ["PENDING", "QUEUED", "RUNNING", "RETRYING"],
    "FAILED": ["PENDING", "QUEUED", "RUNNING", "FAILED"],
    "CANCELLED": ["PENDING", "CANCELLED"],
}


def facts_of(execution):
    shown = present_execution_detail(execution, now=database_now())
    return attempt_facts(shown["attempts"])


@pytest.mark.parametrize("status", PATHS)
def test_the_states_come_in_the_order_in_which_they_were_entered(alpha, status):
    execution = make_execution(alpha, status)

    visits = state_visits(execution)

    assert [visit.state for visit in visits if visit.state != "RUNNING"] == [
        state for state in PATHS[status] if state != "RUNNING"
    ]
    assert ("RUNNING" in [visit.state for visit in visits]) == ("RUNNING" in PATHS[status])
    assert visits == sorted(visits, key=lambda visit: visit.at)


def test_without_events_the_row_tells_its_own_times(alpha):
    execution = make_execution(alpha, "FAILED")
    Event.objects.all().delete()

    states = {visit.state for visit in state_visits(execution)}

    assert states == {"PENDING", "QUEUED", "RUNNING", "FAILED"}


@pytest.mark.django_db(transaction=True)
def test_every_hand_out_keeps_its_time(alpha):
    execution = make_execution(alpha, "RETRYING")
    again, times = hand_out(execution), [execution.queued_at]
    times.append(reload(execution).queued_at)
    finish(again)

    visits = visits_of(execution)

    assert [visit.state for visit in visits if visit.state != "RUNNING"] == [
        *("PENDING", "QUEUED", "RETRYING", "QUEUED", "SUCCEEDED")
    ]
    assert [visit.at for visit in visits if visit.state == "QUEUED"] == times
    assert len(set(times)) == 2
    assert visits[0].at == execution.created_at
    assert visits[-1].at == attempts_of([execution.pk])[execution.pk][-1].finished_at


def test_what_happens_within_a_millisecond_keeps_its_order(alpha):
    execution = make_execution(alpha, "RETRYING")
    hand_out(execution)
    created = execution.created_at.replace(microsecond=831_100) - timedelta(minutes=1)
    Execution.objects.filter(pk=execution.pk).update(created_at=created)
    attempt = Attempt.objects.filter(execution_id=execution.pk)
    times = [created + timedelta(microseconds=step) for step in (100, 200, 300)]
    queued_at, started_at, finished_at = times
    attempt.update(queued_at=queued_at, started_at=started_at, finished_at=finished_at)

    visits = visits_of(execution)

    assert [visit.state for visit in visits[:4]] == ["PENDING", "QUEUED", "RUNNING", "RETRYING"]
    assert [visit.at for visit in visits[:4]] == [created, *times]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("verb", ["withdraw", "release", "defer"])
def test_a_hand_out_that_was_taken_back_is_shown(alpha, verb):
    execution = make_execution(alpha, "QUEUED")
    queued_at, token = execution.queued_at, execution.fencing_token or 0
    if verb == "defer":
        transitions.defer([(execution.pk, token, "circuit_open", database_now())])
    else:
        getattr(transitions, verb)([(execution.pk, token)])

    visits = visits_of(execution)

    assert reload(execution).queued_at is None
    assert [visit.state for visit in visits] == ["PENDING", "QUEUED", "PENDING"]
    assert visits[1].at == queued_at


def test_a_running_and_a_cancelled_execution_show_when_they_were_handed_out(alpha):
    running, cancelled = make_execution(alpha, "RUNNING"), make_execution(alpha, "QUEUED")
    transitions.cancel([(cancelled.pk, cancelled.fencing_token)], "cancelled")

    assert [visit.state for visit in visits_of(running)] == ["PENDING", "QUEUED", "RUNNING"]
    assert [visit.state for visit in visits_of(cancelled)] == ["PENDING", "QUEUED", "CANCELLED"]


@pytest.mark.django_db(transaction=True)
def test_single_events_of_versions_before_are_shown_once(alpha):
    execution = make_execution(alpha, "SUCCEEDED")
    before = visits_of(execution)
    for name, at in [
        ("execution.materialized", execution.created_at),
        ("execution.queued", execution.queued_at),
        ("execution.succeeded", execution.finished_at),
    ]:
        put_single_event(execution, name, at)

    assert visits_of(execution) == before

    # The times that only the events know: of attempts that ended before the columns were there.
    Attempt.objects.filter(execution_id=execution.pk).update(queued_at=None)
    assert visits_of(execution) == before


def reload(execution):
    return Execution.objects.get(pk=execution.pk)


def visits_of(execution):
    return state_visits(reload(execution))


def hand_out(execution):
    Execution.objects.filter(pk=execution.pk).update(due_at=database_now())
    [claimed] = release()
    return claimed


def put_single_event(execution, name, at):
    Event.objects.create(
        id=new_id(),
        tenant_id=execution.tenant_id,
        name=name,
        subject_id=execution.pk,
        task_id=execution.task_id,
        at=at,
    )


def test_another_executions_events_are_not_mixed_in(alpha):
    make_execution(alpha, "FAILED")
    execution = make_execution(alpha, "PENDING")

    assert [visit.state for visit in state_visits(execution)] == ["PENDING"]


def test_an_attempt_is_taken_with_its_times_and_its_error(alpha):
    [facts] = facts_of(make_execution(alpha, "FAILED"))

    assert (facts.number, facts.state, facts.response_status) == (1, "FAILED", 500)
    assert facts.error_code == "http_status"
    assert facts.due_at is not None
    assert facts.started_at is not None
    assert facts.finished_at is not None
    assert facts.started_at < facts.finished_at


def test_an_execution_without_attempts_has_no_facts(alpha):
    assert facts_of(make_execution(alpha, "PENDING")) == []


@pytest.mark.parametrize("status", ["PENDING", "RETRYING", "SUCCEEDED", "CANCELLED"])
def test_nobody_has_what_is_not_handed_out(status):
    assert stay_of(Execution(status=status), HANDLER) is None


@pytest.mark.parametrize(
    ("target", "accepted", "words", "seconds"),
    [
        (HANDLER, None, "", 10),
        (TARGET_DEFAULTS, None, "", 5),
        (TARGET_DEFAULTS, AT, "It runs at the receiver", 30),
        (POOL, AT, "A worker of its pool has it", 30),
    ],
)
def test_a_cancelled_run_ends_at_the_latest_after_its_grace(target, accepted, words, seconds):
    execution = Execution(status="RUNNING", cancel_requested_at=AT, accepted_at=accepted)

    stay = stay_of(execution, target)

    assert stay is not None
    assert (stay.words, stay.since) == (words, accepted)
    assert stay.hard_end_at == AT + timedelta(seconds=seconds)


def test_a_run_that_nobody_cancels_has_no_end():
    stay = stay_of(Execution(status="QUEUED", lease_expires_at=AT), HANDLER)

    assert stay is not None
    assert (stay.hard_end_at, stay.lease_expires_at) == (None, AT)


@pytest.mark.parametrize(
    ("ratio", "flags", "links"), [(None, "00", True), (1.0, "01", True), (0.0, "00", False)]
)
def test_a_trace_links_to_the_operators_tool_where_there_is_something_to_see(
    alpha, settings, ratio, flags, links
):
    tracing = None if ratio is None else Tracing("http://a.example", ratio=ratio)
    settings.PUNCTUAL = replace(
        conf(), tracing=tracing, trace_url="https://traces.example/{trace_id}?x"
    )
    execution = make_execution(alpha)
    execution.trace_context = f"{'4' * 32}-{flags}"

    [shown] = traces_of(execution)

    assert shown.trace_id == "4" * 32
    assert shown.url == (f"https://traces.example/{'4' * 32}?x" if links else "")


def test_the_last_attempt_has_a_trace_of_its_own_while_traces_are_recorded(alpha, settings):
    execution = make_execution(alpha)
    execution.attempt = 3
    assert [one.trace_id for one in traces_of(execution)] == [execution.id.hex]

    settings.PUNCTUAL = replace(conf(), tracing=Tracing("http://a.example"))

    first, last = traces_of(execution)
    assert first.trace_id == execution.id.hex
    assert last.trace_id == context_of_attempt(execution.id.hex, None, 3).trace_id
    assert first.url == last.url == ""
