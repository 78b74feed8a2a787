from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from shared import sealing_contexts
from shared.encryption import DecryptionFailed, open_json, seal
from shared.sealing_contexts import result_context

CONTEXTS: dict[str, Callable[..., bytes]] = {
    name: of
    for name, of in inspect.getmembers(sealing_contexts, inspect.isfunction)
    if name.endswith("_context")
}
#: The contexts of sealed values that are stored: another one would open none of them.
STORED = {
    "revision_context": b"revision:x:1",
    "payload_context": b"execution:x",
    "progress_context": b"progress:x",
    "result_context": b"result:x",
    "response_context": b"response:x",
    "signing_secret_context": b"signing-secret:x",
    "bulk_payload_context": b"bulk_job:x",
    "push_subscription_context": b"push:x",
    "idempotency_context": b"idempotency:x:y",
}


def test_stored_values_stay_readable():
    arguments: dict[str, tuple[Any, ...]] = {
        "revision_context": ("x", 1),
        "idempotency_context": ("x", "y"),
    }

    found = {name: of(*arguments.get(name, ("x",))) for name, of in CONTEXTS.items()}

    assert found == STORED


def test_every_use_has_a_context_of_its_own():
    assert len(set(STORED.values())) == len(STORED)


def test_a_document_opens_only_where_it_belongs():
    sealed = seal(b'{"n":1}', result_context("e"))

    assert open_json(sealed, result_context("e")) == {"n": 1}
    with pytest.raises(DecryptionFailed):
        open_json(sealed, result_context("f"))
