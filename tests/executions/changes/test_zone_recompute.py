"""A zone database that says otherwise than the one that the tasks were computed with."""

from __future__ import annotations

from datetime import timedelta

import pytest

from events.models import AuditEntry
from executions.changes import zone_recompute
from executions.changes.zone_recompute import check_zone_rules
from executions.loop.clocks import database_now
from executions.models import Execution
from shared.exceptions import Unavailable
from tasks.models import Task, ZoneMove, ZoneRules
from tasks.schedules.zones import release
from tests.executions.answers import audited
from tests.executions.changes.changes import pause
from tests.factories import (
    ACTOR,
    daily,
    executions_of,
    make_task,
    pass_guard,
    prepare,
    reload,
)
from tests.factories import release as hand_out
from tests.support.cursors import change_task
from tests.support.old_zones import (  # noqa: F401 - a fixture
    OLD,
    few_zones,
    pretend_shifted,
    record_today,
)

pytestmark = pytest.mark.usefixtures("few_zones")

ZONE = "Asia/Tokyo"
#: At an instant of every minute of the hour that is it now in Tokyo.
BUSY = {"cron_expression": "* * * * * *", "timezone": ZONE}


def tokyo(expression: str, **schedule) -> dict:
    return daily(schedule={"cron_expression": expression, "timezone": ZONE, **schedule})


def at_hour(hours: float) -> str:
    """Return the cron line of the minute so many hours from now, in Tokyo."""
    local = database_now() + timedelta(hours=9 + hours)
    return f"{local.minute} {local.hour} * * *"


def computed_by_old_rules(task: Task, hours: float) -> None:
    """Let the task stand as if Tokyo's clock had been so far ahead from now on."""
    now = database_now()
    record_today(now)
    pretend_shifted(ZONE, now, hours)
    assert task.next_run_at is not None
    task.next_run_at -= timedelta(hours=hours)
    task.save_cursor()


def test_the_first_check_records_the_rules_and_changes_nothing(alpha):
    task = make_task(alpha, tokyo("0 8 * * *"))

    found = check_zone_rules()

    assert (found.recorded, found.installed, found.zones_changed) == ("", release(), ())
    assert reload(task).next_run_at == task.next_run_at
    assert ZoneRules.objects.get(name=ZONE).release == release()


def test_a_task_whose_future_moves_is_reported_recomputed_and_audited(alpha):
    task = make_task(alpha, tokyo(at_hour(5)))
    right = task.next_run_at
    computed_by_old_rules(task, 1)

    found = check_zone_rules(actor=ACTOR)

    assert (found.zones_changed, found.tasks_moved, found.tasks_recomputed) == ((ZONE,), 1, 1)
    assert reload(task).next_run_at == right
    assert reload(task).version == task.version
    move = ZoneMove.objects.get()
    assert (move.task_id, move.tenant_id, move.zone) == (task.id, alpha.id, ZONE)
    assert (move.from_release, move.to_release) == (OLD, release())
    assert move.moved_count >= 364
    noted = audited(task.id, "task.recomputed")
    assert noted["actor"] == ACTOR.name
    assert noted["before"]["next_run_at"] != noted["after"]["next_run_at"]
    assert (noted["before"]["release"], noted["after"]["release"]) == (OLD, release())


def test_tasks_of_other_zones_and_fixed_rates_stay_as_they_are(alpha):
    elsewhere = make_task(alpha, daily())
    rate = make_task(alpha, daily(schedule={"every": "PT1H", "timezone": ZONE}))
    hit = make_task(alpha, tokyo(at_hour(5)))
    computed_by_old_rules(hit, 1)

    check_zone_rules()

    assert [move.task_id for move in ZoneMove.objects.all()] == [hit.id]
    for task in (elsewhere, rate):
        assert reload(task).next_run_at == task.next_run_at


def test_a_repeated_check_does_nothing(alpha):
    task = make_task(alpha, tokyo(at_hour(5)))
    computed_by_old_rules(task, 1)
    check_zone_rules()
    recomputed = reload(task)

    again = check_zone_rules(asked=True)

    assert (again.zones_changed, again.tasks_recomputed) == ((), 0)
    assert reload(task).next_run_at == recomputed.next_run_at
    assert ZoneMove.objects.count() == 1
    assert AuditEntry.objects.filter(action="task.recomputed").count() == 1


def test_a_check_that_died_goes_on_and_reports_nothing_twice(alpha, monkeypatch):
    body = tokyo(at_hour(5))
    tasks = [make_task(alpha, body) for _ in range(3)]
    right = tasks[0].next_run_at
    for task in tasks:
        computed_by_old_rules(task, 1)
    recompute, seen = zone_recompute._recompute, []

    def dies_at_the_second(task_id, *rest):
        seen.append(task_id)
        if len(seen) == 2:
            raise Unavailable("planted")
        return recompute(task_id, *rest)

    monkeypatch.setattr(zone_recompute, "_recompute", dies_at_the_second)
    with pytest.raises(Unavailable):
        check_zone_rules()
    assert ZoneMove.objects.count() == 1
    monkeypatch.setattr(zone_recompute, "_recompute", recompute)

    check_zone_rules()

    assert {reload(task).next_run_at for task in tasks} == {right}
    assert ZoneMove.objects.count() == 3
    assert AuditEntry.objects.filter(action="task.recomputed").count() == 3


def test_a_deleted_or_ended_task_is_left_alone(alpha):
    task = make_task(alpha, tokyo(at_hour(5)))
    computed_by_old_rules(task, 1)
    task.deleted_at = database_now()
    task.save()

    assert check_zone_rules().tasks_recomputed == 0
    assert not ZoneMove.objects.exists()


def test_prepared_and_released_instants_of_the_old_rules_do_not_start(alpha):
    # Every second of this hour in Tokyo as the old rules had it; by the new ones it is not yet.
    # Towards its end the horizon reaches into the next one, which is then this hour by the new.
    now = database_now()
    local = now + timedelta(hours=10)
    task = make_task(alpha, tokyo(f"* * {local.hour} * * *"))
    record_today(now)
    task.next_run_at = now
    task.save_cursor()
    planted = _as_old_rules_prepared(task, now)
    handed = hand_out()
    assert {row.id for row in handed} <= set(planted)
    pretend_shifted(ZONE, now, 1)
    change_task(task.id, next_run_at=now + timedelta(seconds=15))

    check_zone_rules()

    hour_ends = now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    handed = [row for row in handed if row.scheduled_for < hour_ends]
    left = [row for row in executions_of(task) if database_now() <= row.scheduled_for < hour_ends]
    assert left == []
    assert pass_guard(handed) == [0] * len(handed)
    assert handed


def _as_old_rules_prepared(task: Task, now) -> list:
    """Prepare a stretch of seconds, and let the task have its own schedule again."""
    schedule = task.schedule
    Task.objects.filter(pk=task.id).update(schedule={**schedule, **BUSY})
    prepare()
    Task.objects.filter(pk=task.id).update(schedule=schedule)
    return list(Execution.objects.filter(task_id=task.id).values_list("id", flat=True))


def test_instants_that_both_rules_have_stay_prepared(alpha):
    task = make_task(alpha, tokyo("* * * * * *"))
    prepare()
    before = {row.id for row in executions_of(task)}
    now = database_now()
    record_today(now)
    pretend_shifted(ZONE, now, 1)

    check_zone_rules()
    prepare()

    assert before <= {row.id for row in executions_of(task)}
    assert not ZoneMove.objects.exists()


def test_an_instant_that_the_new_rules_put_just_before_now_is_not_forgotten(alpha):
    """The misfire policy decides about it: nobody knew that it was due."""
    # By the old rules an hour ahead of now, by the new ones half an hour ago.
    task = make_task(alpha, tokyo(at_hour(-0.5)))
    now = database_now()
    Task.objects.filter(pk=task.id).update(updated_at=now - timedelta(days=2))
    task.refresh_from_db()
    record_today(now)
    pretend_shifted(ZONE, now, -1.5)
    change_task(task.id, next_run_at=now + timedelta(hours=1))

    check_zone_rules()

    cursor = reload(task).next_run_at
    assert cursor is not None
    assert cursor < now
    prepare()
    [row] = executions_of(task)
    assert row.reason == "misfire_coalesced"


def test_a_paused_task_waits_for_its_new_instant(alpha):
    task = make_task(alpha, tokyo(at_hour(5)))
    right = task.next_run_at
    computed_by_old_rules(task, 1)
    pause(task)

    check_zone_rules()

    assert (reload(task).status, reload(task).next_run_at) == ("PAUSED", right)


def test_a_cursor_that_has_fallen_behind_is_left_to_the_scheduler(alpha):
    task = make_task(alpha, tokyo(at_hour(5)))
    computed_by_old_rules(task, 1)
    behind = database_now() - timedelta(minutes=5)
    change_task(task.id, next_run_at=behind)

    check_zone_rules()

    assert reload(task).next_run_at == behind
    assert ZoneMove.objects.count() == 1


def test_an_instant_more_than_a_year_ahead_moves_too(alpha):
    task = make_task(alpha, tokyo("0 8 29 2 *"))
    right = task.next_run_at
    computed_by_old_rules(task, 1)

    check_zone_rules()

    assert reload(task).next_run_at == right
    assert AuditEntry.objects.filter(action="task.recomputed").count() == 1


@pytest.mark.logs("schedule.unreadable", "zone_rules.followed")
def test_an_unreadable_task_does_not_keep_the_others_from_following(alpha):
    broken, task = (make_task(alpha, tokyo(at_hour(5))) for _ in range(2))
    right = task.next_run_at
    computed_by_old_rules(task, 1)
    Task.objects.filter(pk=broken.id).update(
        schedule={**broken.schedule, "cron_expression": "61 * * * *"}
    )

    found = check_zone_rules()

    assert (found.tasks_unreadable, reload(task).next_run_at) == (1, right)


def test_without_redis_nothing_that_is_released_is_forgotten(alpha, no_redis):
    task = make_task(alpha, tokyo("* * * * * *", max_occurrences=100_000))
    prepare()
    hand_out()
    now = database_now()
    record_today(now)
    pretend_shifted(ZONE, now, 1)
    # Only in the hour that the old rules said.
    local = now + timedelta(hours=10)
    schedule = {**task.schedule, "cron_expression": f"* * {local.hour} * * *"}
    Task.objects.filter(pk=task.id).update(schedule=schedule)
    no_redis()

    with pytest.raises(Unavailable):
        check_zone_rules()

    assert ZoneRules.objects.get(name=ZONE).release == OLD


def test_progress_is_told_per_task(alpha):
    tasks = [make_task(alpha, tokyo(at_hour(5))) for _ in range(2)]
    computed_by_old_rules(tasks[0], 1)
    told = []

    check_zone_rules(advance=lambda done, total: told.append((done, total)))

    assert told == [(1, 2), (2, 2)]
