from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from notifications import channel_layer, live
from notifications.live import publish_alert, publish_topics, publish_topics_to_all, unsent
from shared.ids import new_id
from shared.redis_client import client
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db

TENANT = new_id()


class Listener:
    """Every live message, whatever its group."""

    def __init__(self) -> None:
        self._pubsub = client().pubsub(ignore_subscribe_messages=True)
        self._pubsub.psubscribe("punctual:live:*")
        self._pubsub.get_message(timeout=5)

    def heard(self) -> tuple[str, dict[str, Any]]:
        message = self._pubsub.get_message(timeout=5)
        assert message is not None
        group = message["channel"].decode().removeprefix("punctual:live:")
        return group, orjson.loads(message["data"])

    def close(self) -> None:
        self._pubsub.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.close()


def test_topics_go_to_the_tenants_group_in_one_message(listener: Listener):
    publish_topics(TENANT, ["tasks", "executions", "tasks"])

    group, message = listener.heard()

    assert group == f"tenant.{TENANT}"
    assert (message["type"], message["topics"]) == ("live.topics", ["executions", "tasks"])


def test_versions_rise_from_message_to_message(listener: Listener):
    before = live.current_version()
    for _ in range(2):
        publish_topics(TENANT, ["tasks"])

    versions = [listener.heard()[1]["version"] for _ in range(2)]

    assert before <= versions[0] <= versions[1] <= live.current_version()


def test_no_topics_are_no_message(listener: Listener):
    publish_topics(TENANT, [])
    publish_topics_to_all(["workers"])

    assert listener.heard()[0] == "everyone"


def test_an_alert_carries_what_the_toast_shows(listener: Listener):
    alert_id = new_id()

    publish_alert(TENANT, id=alert_id, severity="error", title="Failed", url="/alerts#1")

    group, message = listener.heard()
    assert group == f"tenant.{TENANT}"
    assert message == {
        "type": "live.alert",
        "alert": {"id": str(alert_id), "severity": "error", "title": "Failed", "url": "/alerts#1"},
    }


def test_without_redis_messages_are_lost_counted_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(live, "client", closed_redis)
    before = unsent()

    publish_topics(TENANT, ["tasks"])
    publish_topics_to_all(["workers"])

    assert unsent() == before + 2
    assert "live_message.not_sent" in caplog.text


def test_without_redis_the_end_of_many_sessions_waits_for_one_message_only(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(channel_layer, "client", closed_redis)
    before = unsent()

    live.close_sockets_of([TENANT] * 50)

    assert unsent() == before + 1
