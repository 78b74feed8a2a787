from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from executions.bulk.scope import (
    Scope,
    count_matching,
    matching,
    query_of,
    read_filters,
    sample_matching,
    stored_filters,
)
from executions.dead_letters.letters import archive_dead_letter
from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution
from shared.exceptions import InvalidInput
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_dead_letter, make_execution, make_task, once
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db


@recounts("bulk.scope")
def test_a_scope_says_how_many_from_when_to_when_and_of_how_many_tasks(alpha: Tenant, beta: Tenant):
    old, new = make_dead_letter(alpha), make_dead_letter(alpha)
    make_dead_letter(beta)
    DeadLetter.objects.filter(pk=old.pk).update(created_at=new.created_at - timedelta(days=1))

    found = count_matching(alpha.id, "dead_letters", {})

    assert found == Scope(2, new.created_at - timedelta(days=1), new.created_at, 2)


def test_only_open_letters_count_unless_the_filter_says_otherwise(alpha: Tenant):
    letter, _ = make_dead_letter(alpha), make_dead_letter(alpha)
    archive_dead_letter(alpha.id, letter.id, note="", actor=ACTOR)

    assert count_matching(alpha.id, "dead_letters", {}).count == 1
    assert count_matching(alpha.id, "dead_letters", {"resolved": True}).count == 1


def test_letters_are_found_by_task_cause_text_and_ids(alpha: Tenant):
    letter = make_dead_letter(alpha, once(name="Wanted"))
    make_dead_letter(alpha)

    for filters in (
        {"task": letter.task_id},
        {"task": str(letter.task_id)},
        {"q": "wanted"},
        {"ids": [str(letter.id)]},
        {"ids": [letter.id, uuid4()]},
    ):
        assert [row.id for row in sample_matching(alpha.id, "dead_letters", filters)] == [letter.id]
    cause = {"error_signature": letter.error_signature}
    assert count_matching(alpha.id, "dead_letters", cause).count == 2
    assert count_matching(alpha.id, "dead_letters", {"error_signature": "other"}).count == 0
    assert count_matching(alpha.id, "dead_letters", {"ids": []}) == Scope(0, None, None, 0)


def test_tasks_are_found_by_state_type_label_text_and_ids(alpha: Tenant):
    task = make_task(alpha, daily(labels={"team": "sales"}))
    make_task(alpha, once(name="Other"))

    for filters in (
        {"type": "RECURRING"},
        {"label": "team:sales"},
        {"q": "daily"},
        {"ids": [task.id]},
        {"status": ["SCHEDULED"], "type": "RECURRING"},
    ):
        assert [row.id for row in sample_matching(alpha.id, "tasks", filters)] == [task.id]
    assert count_matching(alpha.id, "tasks", {"status": "PAUSED"}).count == 0
    assert count_matching(alpha.id, "tasks", {}).tasks == 2


def test_cancelling_takes_unfinished_executions_only(alpha: Tenant):
    waiting = make_execution(alpha)
    make_execution(alpha, "SUCCEEDED")

    rows = matching(alpha.id, "executions", {}, "cancel")

    assert [row.id for row in rows] == [waiting.id]
    assert not matching(alpha.id, "executions", {"status": ["SUCCEEDED"]}, "cancel").exists()


def test_retrying_takes_failed_executions_unless_a_state_or_ids_are_named(alpha: Tenant):
    failed, good = make_execution(alpha, "FAILED"), make_execution(alpha, "SUCCEEDED")
    waiting = make_execution(alpha)

    def found(filters: dict[str, Any]) -> set[Any]:
        return {row.id for row in matching(alpha.id, "executions", filters, "retry")}

    assert found({}) == {failed.id}
    assert found({"status": ["SUCCEEDED"]}) == {good.id}
    assert found({"ids": [good.id, waiting.id]}) == {good.id}
    assert Execution.objects.count() == 3


def test_executions_are_found_by_task_and_time(alpha: Tenant):
    execution = make_execution(alpha, "FAILED")
    now = database_now()

    for filters, count in (
        ({"task": execution.task_id}, 1),
        ({"task": uuid4()}, 0),
        ({"since": now - timedelta(minutes=5), "until": now + timedelta(minutes=5)}, 1),
        ({"until": "2020-01-01T00:00:00Z"}, 0),
    ):
        assert count_matching(alpha.id, "executions", filters, action="retry").count == count


@pytest.mark.parametrize(
    ("kind", "filters", "pointer"),
    [
        ("letters", {}, "#/kind"),
        ("tasks", {"task": "x"}, "#/filter/task"),
        ("dead_letters", {"task": "x"}, "#/filter/task"),
        ("dead_letters", {"ids": ["x"]}, "#/filter/ids"),
        ("dead_letters", {"ids": [str(n) for n in range(3)]}, "#/filter/ids"),
        ("executions", {"since": "yesterday"}, "#/filter/since"),
        ("executions", {"status": ["DONE"]}, "#/filter/status"),
        ("tasks", {"status": "DONE"}, "#/filter/status"),
        ("tasks", {"type": "DAILY"}, "#/filter/type"),
    ],
)
def test_unknown_filters_and_values_are_refused(kind: str, filters: dict[str, Any], pointer: str):
    with pytest.raises(InvalidInput) as refused:
        read_filters(kind, filters)

    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_more_ids_than_a_list_may_have_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("executions.bulk.scope.MAX_IDS", 1)

    with pytest.raises(InvalidInput):
        read_filters("tasks", {"ids": [uuid4(), uuid4()]})


def test_filters_are_stored_as_they_can_be_read_again():
    task = uuid4()
    given = {"task": str(task), "since": "2026-01-01T00:00:00Z", "status": "FAILED", "q": None}

    stored = stored_filters(read_filters("executions", given))

    assert stored == {
        "task": str(task),
        "since": "2026-01-01T00:00:00.000Z",
        "status": ["FAILED"],
    }
    assert read_filters("executions", stored) == read_filters("executions", given)


def test_a_query_that_can_find_nothing_is_none(alpha: Tenant):
    assert query_of(matching(alpha.id, "tasks", {"ids": []})) is None
    assert query_of(matching(alpha.id, "tasks", {})) is not None
