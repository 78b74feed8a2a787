"""What was claimed is published; what the broker has not taken is owed until it is taken back."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import orjson
import pytest
import redis

from executions.dispatch.sending import Sending
from executions.models import Execution
from shared.conf import conf
from shared.data_keys import forget_all
from shared.encryption import key_id_of, seal
from shared.exceptions import Unavailable
from shared.named_secrets.sealed import open_secret
from shared.sealing_contexts import result_context
from tasks.named_secrets.services import change_secret
from tenants.models import DataKey, Tenant
from tenants.services import active_signing_secrets
from tenants.services.data_keys import rotate_data_key
from tests.factories import ACTOR, make_task, once, pass_guard, prepare, release
from tests.support.closed_redis import closed_redis
from tests.support.named_secrets import VALUE, make_secret, using
from tests.support.recording_broker import Broker
from wire import start_guard
from wire.messages import Claimed
from worker.data_keys import take_keys_from_messages
from worker.opened import open_entry

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


def test_a_message_from_before_a_rotation_and_one_from_behind_it_start_at_a_worker(alpha: Tenant):
    broker = Broker()
    before = Sending(broker.publish, active_signing_secrets, claimed(alpha, 1))
    before.send("default.normal", "now", 0.0)
    rotate_data_key(alpha.id, actor=ACTOR)
    forget_all()
    behind = Sending(broker.publish, active_signing_secrets, claimed(alpha, 1), before.keys)
    behind.send("default.normal", "now", 0.0)
    new, old = (str(key.id) for key in DataKey.objects.order_by("-generation"))

    take = take_keys_from_messages()
    messages = [message for _, message in broker.sent]

    sealed_by = []
    for message in messages:
        take(message)
        [entry] = message["executions"]
        assert open_entry(entry).payload == {"n": 1}
        sealed_by.append(key_id_of(base64.b64decode(entry["sealed"])))
        sealed_by.append(key_id_of(seal(b"x", result_context(alpha.id, entry["id"]))))
    assert sealed_by == [old, old, new, new]
    assert [len(message.get("keys", {})[str(alpha.id)]) for message in messages] == [1, 2]


def test_a_message_carries_the_sealed_secrets_that_its_executions_name(alpha: Tenant, beta: Tenant):
    make_secret(alpha)
    make_secret(alpha, "unused")
    make_secret(beta)
    make_task(alpha, once(target=using()))
    make_task(beta, once())
    prepare()
    broker = Broker()

    Sending(broker.publish, active_signing_secrets, release()).send("default.normal", "now", 0.0)

    [(_, message)] = broker.sent
    assert list(message["named_secrets"]) == [str(alpha.id)]
    [(name, blob)] = message["named_secrets"][str(alpha.id)].items()
    assert open_secret(base64.b64decode(blob), alpha.id, name).value == VALUE
    assert VALUE not in orjson.dumps(message).decode()


def test_a_message_without_named_secrets_has_no_place_for_them(
    alpha: Tenant, django_assert_num_queries: Any
):
    broker = Broker()
    sending = Sending(broker.publish, active_signing_secrets, claimed(alpha, 2))
    sending.send("default.normal", "now", 0.0)
    sending.owed = claimed(alpha, 1)

    # The signing secrets; data keys, limits and weights are known from the message before.
    with django_assert_num_queries(1):
        sending.send("default.normal", "now", 0.0)

    assert "named_secrets" not in broker.sent[0][1]


def test_a_value_that_was_replaced_before_the_message_was_sent_is_the_new_one(alpha: Tenant):
    make_secret(alpha)
    make_task(alpha, once(target=using()))
    prepare()
    broker, batch = Broker(), release()
    change_secret(alpha.id, "token", {"value": "new-value"}, actor=ACTOR)

    Sending(broker.publish, active_signing_secrets, batch).send("default.normal", "now", 0.0)

    blob = broker.sent[0][1]["named_secrets"][str(alpha.id)]["token"]
    assert open_secret(base64.b64decode(blob), alpha.id, "token").value == "new-value"
