from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from shared import sealing_contexts
from shared.encryption import DecryptionFailed, open_json, seal
from shared.sealing_contexts import Context, result_context

CONTEXTS: dict[str, Callable[..., Context]] = {
    name: of
    for name, of in inspect.getmembers(sealing_contexts, inspect.isfunction)
    if name.endswith("_context")
}
#: The labels of sealed values that are stored: another one would open none of them.
STORED = {
    "revision_context": b"revision:x:1",
    "payload_context": b"execution:x",
    "progress_context": b"progress:x",
    "result_context": b"result:x",
    "response_context": b"response:x",
    "signing_secret_context": b"signing-secret:t",
    "bulk_payload_context": b"bulk_job:x",
    "push_subscription_context": b"push:x",
    "alert_channel_context": b"alert-channel:x",
    "event_subscription_context": b"event-subscription:x",
    "push_endpoint_context": b"push-endpoint:x",
    "idempotency_context": b"idempotency:t:x",
    "retry_context": b"retry:x",
    "signal_context": b"signal:x",
    "output_context": b"output:x:1:2:3",
    "input_context": b"input:x",
    "items_context": b"items:x:1",
    "second_factor_context": b"second-factor:x",
    "data_key_context": b"data-key:t:x",
    "named_secret_context": b"secret:t:x",
}
#: What the deployment's key seals.
WITHOUT_TENANT = {"second_factor_context", "data_key_context"}


def found() -> dict[str, Context]:
    arguments: dict[str, tuple[Any, ...]] = {
        "revision_context": ("t", "x", 1),
        "signing_secret_context": ("t",),
        "output_context": ("t", "x", 1, 2, 3),
        "items_context": ("t", "x", 1),
        "second_factor_context": ("x",),
    }
    return {name: of(*arguments.get(name, ("t", "x"))) for name, of in CONTEXTS.items()}


def test_stored_values_stay_readable():
    assert {name: context.label for name, context in found().items()} == STORED


def test_every_context_but_those_of_persons_and_keys_names_its_tenant():
    assert {name for name, one in found().items() if one.tenant is None} == WITHOUT_TENANT
    assert {one.tenant for one in found().values()} == {"t", None}


def test_every_use_has_a_context_of_its_own():
    assert len(set(STORED.values())) == len(STORED)


def test_a_document_opens_only_where_it_belongs():
    sealed = seal(b'{"n":1}', result_context("t", "e"))

    assert open_json(sealed, result_context("t", "e")) == {"n": 1}
    with pytest.raises(DecryptionFailed):
        open_json(sealed, result_context("t", "f"))
