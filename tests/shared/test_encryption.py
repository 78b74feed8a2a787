from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.conf import conf
from shared.encryption import (
    DecryptionFailed,
    key_id_of,
    open_json,
    open_sealed,
    seal,
    seal_json,
)

CONTEXT = b"task:0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1"


@pytest.fixture
def use_keys(settings):
    def use(**keys: bytes) -> None:
        settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)

    return use


@given(st.binary(max_size=2000), st.binary(max_size=100))
def test_what_was_sealed_opens_again_in_its_context(plaintext, context):
    assert open_sealed(seal(plaintext, context), context) == plaintext


def test_json_comes_back_as_it_was():
    value = {"report": ["täglich", 1.5, None, {"deep": True}]}

    assert open_json(seal_json(value, CONTEXT), CONTEXT) == value


def test_a_sealed_value_shows_nothing_of_its_text_and_never_repeats():
    first, second = seal(b"canary-text", CONTEXT), seal(b"canary-text", CONTEXT)

    assert b"canary" not in first
    assert first != second


def test_a_blob_copied_to_another_row_does_not_open():
    blob = seal(b"secret", b"task:1")

    with pytest.raises(DecryptionFailed, match="belongs to something else"):
        open_sealed(blob, b"task:2")


def test_every_altered_byte_is_noticed():
    blob = seal(b"secret", CONTEXT)

    for position in range(len(blob)):
        altered = bytearray(blob)
        altered[position] ^= 1
        with pytest.raises(DecryptionFailed):
            open_sealed(bytes(altered), CONTEXT)


@pytest.mark.parametrize("blob", [b"", b"\x01", b"\x02abc", b"{}", b"\x01\x04test", b"\x01\xff"])
def test_what_is_not_a_whole_sealed_value_is_refused(blob):
    with pytest.raises(DecryptionFailed):
        open_sealed(blob, CONTEXT)


def test_old_values_open_after_a_rotation_and_new_ones_use_the_first_key(use_keys):
    use_keys(old=b"o" * 32)
    blob = seal(b"secret", CONTEXT)

    use_keys(new=b"n" * 32, old=b"o" * 32)

    assert open_sealed(blob, CONTEXT) == b"secret"
    assert key_id_of(blob) == "old"
    assert key_id_of(seal(b"secret", CONTEXT)) == "new"


def test_an_unknown_key_id_is_named(use_keys):
    use_keys(old=b"o" * 32)
    blob = seal(b"secret", CONTEXT)

    use_keys(new=b"n" * 32)

    with pytest.raises(DecryptionFailed, match="'old'"):
        open_sealed(blob, CONTEXT)


def test_sealing_without_any_key_is_refused(use_keys):
    use_keys()

    with pytest.raises(DecryptionFailed, match="ENCRYPTION_KEYS"):
        seal(b"secret", CONTEXT)
