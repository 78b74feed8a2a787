from __future__ import annotations

from executions.api.task_answers import task_answer
from tests.factories import make_task


def test_a_task_is_answered_with_its_version_and_a_new_one_with_its_place(alpha):
    task = make_task(alpha)

    shown, made = task_answer(task, more=1), task_answer(task, status=201)

    assert (shown.headers["ETag"], shown.data["more"]) == ('"1"', 1)
    assert "Location" not in shown.headers
    assert made.headers["Location"] == f"/v1/tasks/{task.id}"
