from __future__ import annotations

from typing import Any

import pytest

from executions.complete.recording import record_in_batches
from executions.ledger import budget_charges
from shared import sql
from tasks.models import TaskBudget
from tasks.versions import FIRST_REDIRECTED, step_version
from tests.factories import daily, make_task
from tests.support.outcomes import finished
from tests.support.workflow_steps import claim, end
from tests.support.workflows import begin_run, calls, go_on, make_workflow

pytestmark = pytest.mark.django_db

SECONDS = {"unit": "seconds", "limit": 100, "per": "day"}
TOKENS = {"unit": "tokens", "limit": 100, "per": "day"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the statements that are run about budgets."""
    found: list[str] = []
    real = sql.statement

    def statement(path: str) -> str:
        if path.startswith("budgets/"):
            found.append(path)
        return real(path)

    monkeypatch.setattr(sql, "statement", statement)
    return found


def test_ends_of_tasks_without_a_budget_ask_nothing(alpha, asked: list[str]):
    record_in_batches(finished(alpha, 3))

    assert asked == []


def test_a_workflow_is_charged_for_its_steps(alpha):
    task = make_workflow(alpha, [calls("a"), calls("b")], budget=[TOKENS])
    run_id = begin_run(task)

    for row in claim(run_id).values():
        end(row, cost={"tokens": 5})
    go_on(run_id)

    assert TaskBudget.objects.get(task_id=task.id).used == 10


def test_what_has_ended_twice_is_charged_once(alpha):
    task = make_workflow(alpha, [calls("a")], budget=[TOKENS])
    row = claim(begin_run(task))["a"]

    end(row, cost={"tokens": 5})
    end(row, cost={"tokens": 5})

    assert TaskBudget.objects.get(task_id=task.id).used == 5


class Row:
    """An ended attempt of a version."""

    def __init__(self, task_id: Any, revision: int) -> None:
        self.id = self.task_id = task_id
        self.revision = revision
        self.milliseconds = 1500


@pytest.mark.parametrize(
    ("revision", "gated", "charged"),
    [
        (1, True, 1.5),
        (1, False, 0),
        (FIRST_REDIRECTED, True, 0),
        (step_version(1, 1), False, 1.5),
    ],
)
def test_who_is_charged(alpha, revision: int, gated: bool, charged: float):
    task = make_task(alpha, daily(budget=[SECONDS]))

    budget_charges.charge([Row(task.id, revision)], [], {task.id} if gated else set())

    assert float(TaskBudget.objects.get().used) == charged
