"""The Celery function only opens the door."""

from __future__ import annotations

import pytest

from notifications import celery_tasks
from shared.ids import new_id


def test_the_function_sends_the_delivery_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(celery_tasks, "send_delivery", asked.append)
    delivery = new_id()

    celery_tasks.send(str(delivery))

    assert asked == [delivery]


@pytest.mark.django_db(transaction=True)
def test_a_wake_up_for_what_is_gone_does_nothing() -> None:
    celery_tasks.send(str(new_id()))


def test_the_function_asks_the_address_of_the_member_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(celery_tasks, "send_confirmation", asked.append)

    celery_tasks.confirm("7")

    assert asked == [7]


def test_the_function_sends_the_events_of_the_kind_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(celery_tasks, "send_due_events", lambda failing: asked.append(failing))

    celery_tasks.send_events("failing")
    celery_tasks.send_events("healthy")

    assert asked == [True, False]
