from __future__ import annotations

from events.models import Event
from events.models.event import BATCHED
from executions.states import MOVES
from shared.ids import new_id


def test_an_event_is_called_by_its_subject_or_by_the_size_of_its_batch():
    subject = new_id()

    assert str(Event(name="execution.failed", subject_id=subject)) == f"execution.failed {subject}"
    assert Event(subjects=[subject]).described == "1 execution"
    assert Event(subjects=[subject, new_id()]).described == "2 executions"


def test_only_moves_of_executions_are_batched():
    assert {"execution.materialized", *(move.event for move in MOVES)} >= BATCHED
