from __future__ import annotations

import pytest

from tests.factories import daily, make_task, reload
from tests.support.command_calls import call
from tests.support.command_documents import read_document


def test_the_difference_is_shown_and_nothing_changes(alpha):
    task = make_task(alpha)

    said = call("tasks", "what-if", str(task.id), "--cron", "0 */6 * * *", "--tz", "UTC")

    assert said.code == 0
    assert "runs a day: 1 → 4" in said.out
    assert "of the next 100: 0 kept, 100 added" in said.out
    assert "removed: " in said.out
    assert "nothing was changed" in said.err
    assert reload(task).version == 1


def test_other_starts_in_the_new_minutes_are_told(alpha):
    task = make_task(alpha)
    make_task(alpha, daily(schedule={"cron_expression": "0 9 * * *"}))

    said = call("tasks", "what-if", str(task.id), "--cron", "0 9 * * *", "--tz", "UTC")

    assert "with 1 other starts" in said.out


def test_the_document_keeps_its_schema(alpha):
    task = make_task(alpha)

    for words in (
        ("--priority", "1"),
        ("--at", "2199-01-01T00:00:00Z", "--set", 'type="ONE_TIME"'),
    ):
        said = call("tasks", "what-if", str(task.id), *words, "--json")
        assert read_document("tasks-what-if", said.out)["id"] == str(task.id)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "say what would change"),
        (("--cron", "61 * * * *"), "--cron: "),
        (("--set", "schedule.oops=1"), "schedule.oops: "),
    ],
)
def test_what_an_edit_refuses_is_refused(alpha, words, message):
    said = call("tasks", "what-if", str(make_task(alpha).id), *words)

    assert (said.code, message in said.err) == (2, True)


def test_a_task_that_is_not_there_exits_with_3(alpha):
    assert call("tasks", "what-if", "0" * 12, "--priority", "1").code == 3
