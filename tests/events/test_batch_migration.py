"""The migration to batches of events and the way back."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import connection

import events.migrations
from events.models import Event
from shared.ids import new_id
from tests.factories import make_execution, make_tenant
from tests.support.events import names_of

_FOLDER = Path(events.migrations.__file__ or "").parent


def _run(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute((_FOLDER / name).read_text(encoding="utf-8"))


@pytest.mark.django_db
def test_the_way_back_keeps_an_event_of_each_execution():
    alpha = make_tenant()
    finished, waiting = make_execution(alpha, "SUCCEEDED"), make_execution(alpha)
    count = Event.objects.count()
    batches = Event.objects.filter(name="execution.materialized")
    times = set(batches.values_list("at", flat=True))

    _run("0004_event_batches.down.sql")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT subject_id, task_id, at FROM events WHERE name = 'execution.materialized'"
        )
        singles = list(cursor.fetchall())
    _run("0004_event_batches.sql")

    assert {row[:2] for row in singles} == {(one.pk, one.task_id) for one in (finished, waiting)}
    assert {at for _, _, at in singles} == times
    assert Event.objects.count() == count
    assert names_of(waiting.pk) == ["execution.materialized"]
    Event.objects.create(
        id=new_id(), tenant_id=alpha.pk, name="execution.queued", subjects=[waiting.pk],
        tasks=[waiting.task_id],
    )  # fmt: skip
    assert len(names_of(waiting.pk)) == 2
