"""The end of standing pauses by the scheduler: in its time, by parts, and what was left over."""

from __future__ import annotations

from datetime import timedelta

import pytest

from events.models import AuditEntry, Event
from executions.changes import bulk_pause, ending_pauses
from executions.loop.clocks import database_now
from executions.ownership.partitions import Partitions
from shared.actor import SYSTEM
from tasks.models import Pause, Task
from tests.executions.changes.standing import end, stand
from tests.factories import ACTOR, daily, executions_of, make_task, once, prepare, release, reload

pytestmark = pytest.mark.django_db


@pytest.fixture
def partitions() -> Partitions:
    partitions = Partitions()
    partitions.run_once()
    return partitions


def due(pause: Pause) -> Pause:
    """Let the pause's time have come by the time of this transaction."""
    Pause.objects.filter(pk=pause.pk).update(until=database_now() - timedelta(minutes=5))
    return pause


def test_a_pause_whose_time_has_come_ends_and_lets_its_tasks_go(alpha, partitions):
    tasks = [make_task(alpha), make_task(alpha)]
    made = due(stand(alpha, until=database_now() + timedelta(hours=1)))

    assert ending_pauses.run_once(partitions).done == 2

    made.refresh_from_db()
    assert (made.ended_by, made.ended_at is not None) == ("system", True)
    assert {(reload(t).status, reload(t).pause_id) for t in tasks} == {("SCHEDULED", None)}
    assert AuditEntry.objects.filter(action="pause.ended", actor="system").count() == 1
    assert ending_pauses.run_once(partitions).done == 0


@pytest.mark.moving_clock
def test_work_that_was_held_goes_out_again(alpha, partitions):
    task = make_task(alpha, once(labels={"team": "billing"}))
    partitions.release_all()
    prepare()
    made = stand(alpha, until=database_now() + timedelta(hours=1))
    assert [row.held for row in executions_of(task)] == [True]
    due(made)
    partitions.run_once()

    ending_pauses.run_once(partitions)

    assert len(release()) == 1


def test_pauses_that_last_are_left_alone(alpha, partitions):
    task = make_task(alpha)
    stand(alpha, until=database_now() + timedelta(hours=1))
    stand(alpha, "tenant", "")

    assert bulk_pause.end_due(partitions) == (0, False)

    assert reload(task).status == "PAUSED"


def test_only_the_scheduler_that_holds_its_partition_ends_a_pause(alpha):
    make_task(alpha)
    due(stand(alpha, until=database_now() + timedelta(hours=1)))

    assert bulk_pause.end_due(Partitions()) == (0, False)
    assert Pause.objects.open().count() == 1


def test_many_tasks_are_let_go_in_parts(alpha, partitions, monkeypatch):
    monkeypatch.setattr(bulk_pause, "_LET_GO_AT_ONCE", 2)
    tasks = [make_task(alpha) for _ in range(5)]
    due(stand(alpha, until=database_now() + timedelta(hours=1)))

    found = []
    for left in (3, 1, 0):
        found.append(ending_pauses.run_once(partitions).next_in)
        assert sum(reload(task).status == "PAUSED" for task in tasks) == left

    assert found == [0.0, 0.0, 1.0]


def test_the_pause_of_a_task_ends_with_its_time_also_while_another_lasts(alpha, partitions):
    task = make_task(alpha)
    first = due(stand(alpha, until=database_now() + timedelta(hours=1)))
    second = stand(alpha, "tenant", "")
    assert reload(task).pause_id == first.id

    ending_pauses.run_once(partitions)

    assert (reload(task).status, reload(task).pause_id) == ("PAUSED", second.id)


def test_a_task_that_went_under_a_pause_in_the_moment_of_its_end_is_let_go(alpha, partitions):
    task = make_task(alpha)
    made = stand(alpha)
    end(made)
    Task.objects.filter(pk=task.pk).update(
        status="PAUSED", paused_at=database_now(), pause_id=made.id
    )

    assert bulk_pause.end_due(partitions) == (1, False)

    assert (reload(task).status, reload(task).pause_id) == ("SCHEDULED", None)


def test_whoever_ends_a_pause_second_changes_nothing(alpha):
    made = stand(alpha)
    now = database_now()

    assert bulk_pause.end(made, actor=SYSTEM, now=now)
    assert not bulk_pause.end(made, actor=ACTOR, now=now)

    made.refresh_from_db()
    assert made.ended_by == "system"


def test_a_pause_that_holds_nothing_tells_of_nothing(alpha):
    made = stand(alpha)
    Event.objects.all().delete()

    assert bulk_pause.let_go(made, database_now()) == 0
    assert bulk_pause.hold(made, [], database_now()) == 0

    assert not Event.objects.exists()


def test_a_task_that_somebody_paused_or_deleted_meanwhile_is_left_out(alpha):
    made = stand(alpha)
    mine, gone, task = (make_task(alpha, daily(labels={})) for _ in range(3))
    Task.objects.filter(pk=mine.pk).update(status="PAUSED", paused_at=database_now())
    Task.objects.filter(pk=gone.pk).update(deleted_at=database_now())

    assert bulk_pause.hold(made, [mine.id, gone.id, task.id], database_now()) == 1

    assert [reload(one).pause_id for one in (mine, gone, task)] == [None, None, made.id]


def test_the_pause_of_a_task_by_itself_that_ends_under_a_standing_one_goes_on_under_it(
    alpha, partitions
):
    task = make_task(alpha)
    Task.objects.filter(pk=task.pk).update(
        status="PAUSED",
        paused_at=database_now(),
        paused_until=database_now() - timedelta(minutes=5),
    )
    made = stand(alpha)

    assert ending_pauses.run_once(partitions).done == 1

    held = reload(task)
    assert (held.status, held.pause_id, held.paused_until) == ("PAUSED", made.id, None)
