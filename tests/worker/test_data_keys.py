from __future__ import annotations

import base64
import os

from shared.encryption import key_id_of, open_sealed, seal
from shared.ids import new_id
from shared.key_service import key_service
from shared.sealing_contexts import result_context
from worker.data_keys import take_keys_from_messages


def text_of(tenant: str) -> tuple[str, str]:
    key_id = new_id()
    wrapped = key_service().wrap(os.urandom(32), tenant, key_id)
    return str(key_id), base64.b64encode(key_id.bytes + wrapped).decode()


def test_a_worker_seals_and_opens_by_the_keys_of_its_messages():
    tenant = str(new_id())
    take = take_keys_from_messages()
    context = result_context(tenant, "e")
    assert key_id_of(seal(b"x", context)) == "test"

    old, old_text = text_of(tenant)
    take({"offset": 0.0, "secrets": {}, "keys": {tenant: [old_text]}})
    former = seal(b"x", context)
    new, new_text = text_of(tenant)
    take({"offset": 0.0, "secrets": {}, "keys": {tenant: [new_text, old_text]}})

    assert (key_id_of(former), key_id_of(seal(b"x", context))) == (old, new)
    assert open_sealed(former, context) == b"x"


def test_a_message_of_an_older_scheduler_brings_no_keys():
    take = take_keys_from_messages()

    take({"offset": 0.0, "secrets": {}})

    assert key_id_of(seal(b"x", result_context("t", "e"))) == "test"
