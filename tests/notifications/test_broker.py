"""Wake-ups of senders through the broker."""

from __future__ import annotations

import pytest

from notifications.broker import (
    CONFIRM,
    SEND,
    SEND_EVENTS,
    wake_confirmation,
    wake_event_sender,
    wake_sender,
)
from shared.ids import new_id
from shared.redis_client import client


@pytest.mark.usefixtures("django_db_modify_db_settings")
def test_a_wake_up_lies_in_the_queue_of_the_system_worker() -> None:
    delivery = new_id()

    wake_sender(delivery)

    [message] = client().lrange("system", 0, -1)
    assert SEND.encode() in message


@pytest.mark.usefixtures("django_db_modify_db_settings")
def test_a_request_to_confirm_lies_in_the_queue_of_the_system_worker() -> None:
    wake_confirmation(7)

    [message] = client().lrange("system", 0, -1)
    assert CONFIRM.encode() in message


@pytest.mark.usefixtures("django_db_modify_db_settings")
def test_a_wake_up_to_send_events_lies_in_the_queue_of_the_system_worker() -> None:
    wake_event_sender(failing=True)

    [message] = client().lrange("system", 0, -1)
    assert SEND_EVENTS.encode() in message
