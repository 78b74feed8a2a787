from __future__ import annotations

import pytest

from executions.loop.clocks import database_now
from executions.models import Destination, Execution
from insight.explain.destination_checks import destination
from insight.explain.evidence import Situation
from insight.explain.waiting import waiting_for
from tasks.models import Task
from tests.factories import make_execution, reload
from tests.insight.explain.cast import owned
from tests.support.circuits import HOST, live
from wire.destination_key import key_of

pytestmark = pytest.mark.django_db


def situation(execution: Execution) -> Situation:
    execution.refresh_from_db()
    task = reload(Task(pk=execution.task_id))
    return Situation(task, execution.scheduled_for, database_now(), execution)


def park(tenant, reason: str = "") -> Execution:
    execution = make_execution(tenant)
    Execution.objects.filter(pk=execution.pk).update(parked=True, reason=reason)
    execution.refresh_from_db()
    return execution


def test_an_open_circuit_stops_it_until_its_end(alpha):
    execution = park(alpha, "circuit_open")
    live().report(20, 18, destination=key_of(alpha.id, HOST))

    found = destination(situation(execution))

    assert found.ok is False
    assert found.until is not None
    assert found.says.startswith(f"the circuit of {HOST} is open until ")
    assert "18 of 20 calls of the last minute failed." in found.more
    assert found.fix is not None
    assert found.fix.call == f"POST /v1/destinations/{HOST}/reset"


def test_a_half_open_circuit_tries_one_at_a_time(alpha):
    execution = park(alpha, "circuit_open")
    redis = live()
    redis.at -= 30_000
    redis.report(20, 20, destination=key_of(alpha.id, HOST))

    found = destination(situation(execution))

    assert found.ok is False
    assert "half open" in found.says


def test_a_rate_says_when_its_turn_comes(alpha):
    execution = park(alpha, "destination_rate")
    Destination.objects.create(tenant=alpha, host=HOST, rate_per_second=0.5)

    found = destination(situation(execution))

    assert found.says == f"{HOST} may be called 0.5 times a second"
    assert found.until is not None
    assert found.more == "1 wait for it."


def test_a_limit_says_how_many_are_under_way(alpha):
    execution = park(alpha, "destination_in_flight")
    make_execution(alpha, "RUNNING")
    owned()
    Destination.objects.create(tenant=alpha, host=HOST, max_in_flight=1)

    found = destination(situation(execution))

    assert found.says == f"1 of 1 requests at a time go to {HOST}"
    assert waiting_for(execution, reload(Task(pk=execution.task_id)), database_now()) == {
        "what": "destination",
        "until": None,
        "detail": f"1 of 1 requests at a time go to {HOST}. 1 wait for it.",
    }


def test_a_slow_destination_leaves_slots_to_others(alpha):
    found = destination(situation(park(alpha, "destination_in_flight")))

    assert found.ok is False
    assert f"{HOST} is slow" in found.says


def test_what_is_not_parked_has_room(alpha):
    assert destination(situation(make_execution(alpha))).ok is True


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED"])
def test_it_is_not_asked_of_what_has_started(alpha, status):
    assert destination(situation(make_execution(alpha, status))).ok is None


def test_work_that_calls_no_host_is_not_asked(alpha):
    execution = make_execution(alpha)
    Execution.objects.update(destination="")

    assert destination(situation(execution)).ok is None
