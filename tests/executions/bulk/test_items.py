from __future__ import annotations

import pytest

from events.audit import Change
from executions.bulk.items import Batch, refused
from executions.choices import ItemOutcome
from shared.exceptions import Conflict, FieldError, InvalidInput, NotFound, TooLarge
from shared.ids import new_id


@pytest.mark.parametrize(
    ("error", "outcome", "code", "message"),
    [
        (Conflict("No.", code="busy"), ItemOutcome.SKIPPED, "busy", "No."),
        (NotFound("Gone."), ItemOutcome.SKIPPED, "not_found", "Gone."),
        (InvalidInput([FieldError("#/a", "b", "So.")]), ItemOutcome.FAILED, "invalid", "So."),
        (TooLarge("Large."), ItemOutcome.FAILED, TooLarge.code, "Large."),
        pytest.param(
            *(ValueError("secret"), ItemOutcome.FAILED, "internal", "See the log."),
            marks=pytest.mark.logs("bulk_item.failed"),
        ),
    ],
)
def test_an_error_becomes_the_result_of_its_item(
    error: Exception, outcome: str, code: str, message: str
):
    result = refused(new_id(), error)

    assert (result.outcome, result.code, result.message) == (outcome, code, message)


def test_results_and_changes_come_in_the_order_of_the_items():
    first, second, third = ids = sorted([new_id(), new_id(), new_id()], reverse=True)
    batch = Batch(ids)

    batch.refuse(second, Conflict("No.", code="busy"))
    for item_id in (third, first):
        batch.note(Change("task.paused", "task", item_id))

    assert batch.open == [third, first]
    assert [result.code for result in batch.results] == ["", "busy", ""]
    assert [change.object_id for change in batch.changes] == [first, third]


def test_items_that_are_not_there_are_skipped():
    here, gone = new_id(), new_id()
    batch = Batch([here, gone])

    batch.require([here, new_id()], "task")

    assert batch.open == [here]
    assert [result.message for result in batch.results] == ["", "There is no such task."]
