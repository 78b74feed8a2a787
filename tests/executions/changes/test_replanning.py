from __future__ import annotations

from datetime import timedelta

import pytest

from executions.changes import replanning, withdrawal
from executions.loop.clocks import database_now
from tasks.editing import Standing
from tasks.limits import current_limits
from tasks.models import Task
from tasks.revisions import read_definition
from tasks.validation.bodies import parse_patch
from tests.factories import (
    every_second,
    executions_of,
    finish,
    make_task,
    make_tenant,
    once,
    prepare,
    release,
    reload,
    start,
)


@pytest.fixture
def task(db: None) -> Task:
    task = make_task(make_tenant(), every_second())
    prepare()
    return reload(task)


def replan(task: Task, body, now=None):
    now = now or database_now()
    current = read_definition(task)
    definition, _ = parse_patch(current, body, now=now, limits=current_limits())
    return replanning.replan(task, definition, withdrawal.take_back(task.id, now), now)


def test_an_edit_that_leaves_the_schedule_leaves_the_ledger(task):
    assert replan(task, {"name": "New"}) == ([], Standing())


def test_every_prepared_instant_of_another_schedule_leaves_and_no_longer_counts(task):
    removed, standing = replan(task, {"schedule": {"cron_expression": "0 0 1 1 *"}})

    assert len(removed) == len(executions_of(task)) == standing.taken_back
    assert not standing.unfinished


def test_instants_that_stay_are_met_again_and_so_do_not_count_either(task):
    now = executions_of(task)[0].scheduled_for

    removed, standing = replan(task, {"schedule": {"misfire_policy": "skip"}}, now)

    assert removed == []
    assert standing == Standing(len(executions_of(task)), True)


def test_instants_beyond_the_new_bound_leave(task):
    now = executions_of(task)[0].scheduled_for

    removed, _ = replan(task, {"schedule": {"max_occurrences": 3}}, now)

    assert [row.id for row in removed] == [row.id for row in executions_of(task)[3:]]


def test_late_instants_leave_only_with_a_schedule_that_does_not_have_them(task):
    now = executions_of(task)[-1].scheduled_for + timedelta(milliseconds=1)

    assert replan(task, {"schedule": {"misfire_policy": "skip"}}, now)[0] == []
    removed, standing = replan(task, {"schedule": {"cron_expression": "0 0 1 1 *"}}, now)
    assert len(removed) == standing.taken_back == len(executions_of(task))


def test_only_instants_before_the_cursor_have_been_counted(task):
    rows = executions_of(task)
    task.next_run_at = rows[5].scheduled_for

    assert replanning.count_from(task, rows[2].scheduled_for) == 3


@pytest.mark.parametrize(
    ("status", "met"),
    [("SUCCEEDED", "COMPLETED"), ("FAILED", "FAILED"), ("CANCELLED", "CANCELLED")],
)
def test_a_one_time_task_owes_its_state_to_an_instant_that_has_run(db, status, met):
    first = database_now() - timedelta(seconds=1)
    task = make_task(make_tenant(), once(first))
    prepare()
    [row] = release()
    start([row])
    finish(row, status)
    stored = read_definition(task)
    task = reload(task)
    task.schedule = {**task.schedule, "run_at": "2030-01-01T00:00:00.000Z"}

    _, standing = replanning.replan(task, stored, [], database_now())

    assert standing.met == met
