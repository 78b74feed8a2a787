"""What was claimed is published; what the broker has not taken is owed until it is taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import redis

from executions.dispatch.sending import Sending
from executions.models import Execution
from shared.conf import conf
from shared.exceptions import Unavailable
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.factories import make_task, once, pass_guard, prepare, release
from tests.support.closed_redis import closed_redis
from tests.support.recording_broker import Broker
from wire import start_guard
from wire.messages import Claimed

pytestmark = pytest.mark.django_db


def claimed(tenant: Tenant, count: int) -> list[Claimed]:
    for _ in range(count):
        make_task(tenant, once())
    prepare()
    found = release()
    assert len(found) == count
    return found


def test_what_is_published_is_owed_no_longer(alpha: Tenant):
    broker = Broker()
    sending = Sending(broker.publish, active_signing_secrets, claimed(alpha, 2))

    sending.send("default.normal", "now", 0.0)

    assert sending.owed == []
    assert broker.queues == ["default.normal"]
    assert len(broker.entries) == 2
    assert broker.sent[0][1]["secrets"][str(alpha.id)]


def test_what_comes_behind_a_message_that_was_refused_is_owed(alpha: Tenant, settings: Any):
    settings.PUNCTUAL = replace(conf(), message_executions=1)
    taken: list[str] = []

    def publish(queue: str, message: Any) -> None:
        if taken:
            raise redis.ConnectionError("away")
        taken.append(queue)

    batch = claimed(alpha, 3)
    sending = Sending(publish, active_signing_secrets, batch)

    with pytest.raises(redis.ConnectionError):
        sending.send("default.normal", "now", 0.0)

    assert sending.owed == batch[1:]


def test_what_is_owed_is_taken_back_but_not_what_has_started(alpha: Tenant):
    batch = claimed(alpha, 2)
    pass_guard(batch[:1])
    sending = Sending(Broker().publish, active_signing_secrets, batch)

    assert sending.take_back() == batch

    assert sending.owed == []
    statuses = dict(Execution.objects.values_list("id", "status"))
    assert statuses == {batch[0].id: "QUEUED", batch[1].id: "PENDING"}


def test_what_cannot_be_voided_stays_owed(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    batch = claimed(alpha, 1)
    sending = Sending(Broker().publish, active_signing_secrets, batch)
    monkeypatch.setattr(start_guard, "client", closed_redis)

    with pytest.raises(Unavailable):
        sending.take_back()

    assert sending.owed == batch
    assert Execution.objects.get().status == "QUEUED"
