from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection

from executions.models import Execution, WorkflowRun
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.support.child_runs import runs
from tests.support.limits_world import ask, begin, end_all, look, queueing, rest
from tests.support.workflow_steps import claim, end
from tests.support.workflows import begin_children, calls, go_on, make_workflow, status_of
from workflows import deadlocks
from workflows.deadlocks import RUNS_WAIT, Wait, end_some, stuck, to_end


def ids(*numbers: int) -> frozenset[UUID]:
    return frozenset(UUID(int=number) for number in numbers)


def wait(number: int, above: int, holders: list[int], most: int = 1) -> Wait:
    return Wait(UUID(int=number), ids(above), most, ids(*holders))


def test_two_that_wait_for_each_other_are_stuck_and_the_newest_ends():
    first, second = wait(11, 1, [2]), wait(12, 2, [1])

    assert stuck([first, second]) == [first, second]
    assert to_end([first, second]) == second


def test_a_place_that_will_be_free_frees_all():
    free = wait(12, 2, [3])

    assert stuck([wait(11, 1, [2]), free]) == []
    assert to_end([free]) is None


def test_one_of_two_places_that_will_be_free_is_enough():
    first, second = wait(11, 1, [2], most=2), wait(12, 2, [1])

    assert to_end([first, second]) is None


def test_what_only_waits_behind_them_does_not_end():
    behind = wait(99, 9, [1])
    circle = [wait(11, 1, [2]), wait(12, 2, [1])]

    assert stuck([*circle, behind]) == [*circle, behind]
    assert to_end([*circle, behind]) == circle[1]


def test_one_that_waits_for_a_run_above_it_waits_for_itself():
    own = wait(11, 1, [1])

    assert to_end([own]) == own


def test_three_in_a_circle_are_found():
    circle = [wait(11, 1, [2]), wait(12, 2, [3]), wait(13, 3, [1])]

    assert to_end(circle) == circle[2]


def test_a_run_that_has_a_place_itself_and_waits_for_another_is_part_of_the_circle():
    # It has the place at its gate that the other one waits for, and waits for its key.
    assert to_end([wait(11, 1, [2]), wait(12, 3, [1]), wait(2, 4, [1])]) is not None


def test_of_two_circles_one_run_of_one_of_them_ends():
    circles = [wait(11, 1, [2]), wait(12, 2, [1]), wait(13, 3, [4]), wait(14, 4, [3])]

    assert to_end(circles) in (circles[1], circles[3])


def test_a_run_between_two_circles_does_not_end():
    circles = [wait(11, 1, [2]), wait(12, 2, [1, 5], most=2), wait(13, 3, [4]), wait(14, 4, [3])]
    between = wait(99, 5, [3])

    assert stuck([*circles, between]) == [*circles, between]
    assert to_end([*circles, between]) != between


class Watched(Wait):
    """A wait that counts how often it is asked for what it keeps."""

    looks = 0

    @property
    def keeps(self) -> frozenset[UUID]:
        Watched.looks += 1
        return super().keeps


def test_a_thousand_behind_a_circle_are_each_looked_at_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(Watched, "looks", 0)
    behind = [Watched(UUID(int=100 + n), ids(10_000 + n), 1, ids(1)) for n in range(1000)]

    found = to_end([wait(11, 1, [2]), wait(12, 2, [1]), *behind])

    assert found == wait(12, 2, [1])
    assert Watched.looks <= 10_000


@pytest.fixture
def tenant(db: None) -> Tenant:
    return make_tenant()


def crossed(tenant: Tenant) -> list[UUID]:
    """Begin two runs that wait for each other."""
    keys = [{"key": "a", "max": 1}, {"key": "b", "max": 1}]
    inner = [make_workflow(tenant, [calls("c")], concurrency=key) for key in keys]
    outer = [
        make_workflow(tenant, [calls("x"), runs("sub", one, "x")], concurrency=key)
        for one, key in zip(reversed(inner), keys, strict=True)
    ]
    found = [ask(task) for task in outer]
    begin()
    end_all()
    look()
    return found


@pytest.mark.logs("runs.deadlocked")
def test_only_one_of_them_ends_and_says_why(tenant: Tenant):
    found = crossed(tenant)

    [ended] = end_some()

    row = Execution.objects.get(pk=ended)
    assert (row.status, row.reason, row.error_code) == ("FAILED", RUNS_WAIT, RUNS_WAIT)
    assert "one key" in row.error_message
    assert (row.gated, row.key_place) == (False, None)
    assert end_some() == []
    go_on(*found)
    rest()
    assert sorted(map(status_of, found)) == ["FAILED", "SUCCEEDED"]


def test_one_that_was_let_through_meanwhile_stays(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    crossed(tenant)
    read, looks = deadlocks._waits, list[int]()

    def waits(tenant_id: UUID, tasks: list[UUID]) -> list[Wait]:
        looks.append(1)
        return read(tenant_id, tasks) if len(looks) == 1 else []

    monkeypatch.setattr(deadlocks, "_waits", waits)

    assert end_some() == []
    assert not Execution.objects.filter(status="FAILED").exists()


def children() -> list[Execution]:
    """Return the runs that steps have asked for and that wait."""
    found = Execution.objects.filter(pool="workflow", status="PENDING", step__isnull=False)
    return list(found.order_by("id"))


@pytest.mark.parametrize("which", [0, 1])
def test_a_run_that_keeps_a_key_which_its_workflow_has_no_longer_is_found(
    tenant: Tenant, which: int
):
    crossed(tenant)
    edited = Task.objects.filter(pk=children()[which].task_id)
    edited.update(concurrency_key=None, concurrency_max=None, concurrency_fifo=None)

    assert len(end_some()) == 1


def test_what_a_cancel_takes_back_is_no_wait_of_runs_for_each_other(tenant: Tenant):
    first, _ = crossed(tenant)
    # It was cancelled, and its process has not taken back yet what it waits for.
    WorkflowRun.objects.filter(pk=first).update(phase="cancelling")

    assert end_some() == []


def test_a_circle_is_found_behind_many_runs_that_hold_nothing(tenant: Tenant):
    crossed(tenant)
    [first, second] = children()
    plain = ask(make_workflow(tenant, [calls("x")]))
    begin()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO open_executions SELECT (jsonb_populate_record(e, jsonb_build_object("
            "'id', gen_random_uuid(), 'run_id', %s::uuid, 'due_at', e.due_at - interval '1 hour'"
            "))).* FROM open_executions e, generate_series(1, 1100) WHERE e.id = ANY(%s)",
            [plain, [first.id, second.id]],
        )

    assert end_some() == [second.id]


def test_a_run_that_has_a_place_and_waits_stands_for_none_other_of_its_run(tenant: Tenant):
    # Both places at the gate have runs that wait for the key of a third one, which needs a place.
    key = {"key": "k", "max": 1}
    inner = make_workflow(tenant, [calls("c")], schedule=queueing(2), concurrency=key)
    both = make_workflow(tenant, [calls("x"), runs("one", inner, "x"), runs("two", inner, "x")])
    last = make_workflow(tenant, [calls("x"), runs("sub", inner, "x")], concurrency=key)
    found = [ask(both), ask(last)]
    begin()
    for run in found:
        end(claim(run)["x"])
        go_on(run)
        look()
    assert Execution.objects.filter(counted=True, key_place=0).count() == 2

    assert len(end_some()) == 1


def test_runs_of_other_tenants_are_nothing_to_it(tenant: Tenant):
    crossed(make_tenant("Other"))
    ended = end_some()
    crossed(tenant)

    assert len(ended) == 1
    assert len(end_some()) == 1


def test_without_runs_that_wait_nothing_is_read(tenant: Tenant, monkeypatch: pytest.MonkeyPatch):
    ask(make_workflow(tenant, [calls("a")]))
    begin_children()
    monkeypatch.setattr(deadlocks, "_waits", None)

    assert end_some() == []
