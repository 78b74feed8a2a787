from __future__ import annotations

import pytest

from executions.loop.clocks import database_now
from executions.triggering.triggers import run_task
from insight.explain.answer import Explanation
from insight.explain.explanation import explain_execution, explain_task
from tasks.models import Task
from tests.executions.changes.changes import cancel, delete
from tests.factories import ACTOR, executions_of, make_task, once, reload
from tests.support.cursors import change_task
from tests.support.waiting_tasks import end, look, make_waiting, starts

pytestmark = pytest.mark.django_db


def explain(task: Task) -> Explanation:
    return explain_task(reload(task), None, database_now())


def blocker(found: Explanation) -> tuple[str, str]:
    check = next(one for one in found.checks if one.ok is False)
    return check.name, check.says


def judged(found: Explanation) -> tuple[bool | None, str]:
    [check] = [one for one in found.checks if one.name == "dependencies"]
    return check.ok, check.says


def test_what_is_waited_for_is_named_with_its_state(alpha):
    first = make_task(alpha, once(name="Load"))
    second = make_task(alpha, once(name="Check"))
    third = make_task(alpha, once(name="Tell"))
    task = make_waiting(alpha, [first, second, third])
    cancel(second)
    delete(third)

    found = explain(task)

    assert found.state == "waits"
    assert blocker(found) == (
        "dependencies",
        "3 tasks that it depends on have not succeeded: "
        "Load (SCHEDULED), Check (CANCELLED), Tell (deleted)",
    )
    assert found.estimated_start is None


def test_of_many_only_some_are_named(alpha):
    tasks = [make_task(alpha, once(name=f"T{number}")) for number in range(7)]

    _, says = blocker(explain(make_waiting(alpha, tasks)))

    assert says.count("(SCHEDULED)") == 5
    assert says.endswith(" and 2 more")


@pytest.mark.parametrize(
    ("policy", "follows"), [("skip", "it is skipped"), ("fail", "it fails"), ("wait", "a retry")]
)
def test_what_follows_a_failure_is_told(alpha, policy, follows):
    task = make_waiting(alpha, [make_task(alpha, once())], on_dependency_failure=policy)

    [check] = [one for one in explain(task).checks if one.name == "dependencies"]

    assert follows in check.more


def test_when_all_have_succeeded_it_passes(alpha):
    first = make_task(alpha, once())
    task = make_waiting(alpha, [first])
    end(first)
    starts(task)

    assert judged(explain(task)) == (True, "it waits for no other task any longer")


def test_of_what_was_not_run_the_cause_is_told(alpha):
    first = make_task(alpha, once())
    task = make_waiting(alpha, [first])
    change_task(task.id, next_run_at=database_now())
    cancel(first)
    look()

    [row] = executions_of(task)
    found = explain_execution(row, database_now())

    assert found.state == "did_not_run"
    assert blocker(found)[0] == "dependencies"
    assert "had ended without success" in found.verdict


def test_a_run_by_hand_is_not_judged_by_them(alpha):
    task = make_waiting(alpha, [make_task(alpha, once())])
    row = run_task(alpha.id, task.id, None, actor=ACTOR)

    assert judged(explain_execution(row, database_now()))[0] is None
