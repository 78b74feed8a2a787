from __future__ import annotations

from shared.encryption import open_json
from shared.sealing_contexts import response_context
from wire import sealing


def test_a_log_is_sealed_with_what_is_known_of_it():
    sealed = sealing.sealed_log({"tenant": "t", "id": "e"}, b"\xff", truncated=True, exit_code=3)

    assert open_json(sealed, response_context("t", "e")) == {
        "log": "/w==", "truncated": True, "exit_code": 3,
    }  # fmt: skip
