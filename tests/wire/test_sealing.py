from __future__ import annotations

import pytest

from shared.encryption import DecryptionFailed, open_json, seal
from wire import sealing


def test_every_use_has_a_context_of_its_own():
    contexts = (sealing.progress_context, sealing.result_context, sealing.response_context)

    assert len({of("e") for of in contexts} | {of("f") for of in contexts}) == 6


def test_a_document_opens_only_where_it_belongs():
    sealed = seal(b'{"n":1}', sealing.result_context("e"))

    assert open_json(sealed, sealing.result_context("e")) == {"n": 1}
    with pytest.raises(DecryptionFailed):
        open_json(sealed, sealing.result_context("f"))


def test_a_log_is_sealed_with_what_is_known_of_it():
    sealed = sealing.sealed_log("e", b"\xff", truncated=True, exit_code=3)

    assert open_json(sealed, sealing.response_context("e")) == {
        "log": "/w==", "truncated": True, "exit_code": 3,
    }  # fmt: skip
