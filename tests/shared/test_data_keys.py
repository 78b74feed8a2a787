"""Values under data keys: bound to tenant and row, derived keys, caches that are bounded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import UUID

import pytest

from shared import data_keys
from shared.data_keys import Arrived, Wrapped, header_of, use_source
from shared.encryption import DecryptionFailed, key_id_of, open_sealed, seal
from shared.ids import new_id
from shared.key_service import key_service
from shared.sealing_contexts import payload_context

ALPHA, BETA = str(new_id()), str(new_id())
ROW = new_id()


def wrapped(tenant: str, key_id: UUID | None = None) -> Wrapped:
    one = key_id or new_id()
    return Wrapped(one, tenant, key_service().wrap(os.urandom(32), tenant, one))


@pytest.fixture
def arrived() -> Iterator[Arrived]:
    source = Arrived()
    former = use_source(source)
    yield source
    use_source(former)


def test_a_value_opens_for_its_tenant_and_row_alone(arrived: Arrived):
    arrived.note(ALPHA, [wrapped(ALPHA)])
    arrived.note(BETA, [wrapped(BETA)])
    sealed = seal(b"secret", payload_context(ALPHA, ROW))

    assert b"secret" not in sealed
    assert open_sealed(sealed, payload_context(ALPHA, ROW)) == b"secret"
    for other in (payload_context(BETA, ROW), payload_context(ALPHA, new_id())):
        with pytest.raises(DecryptionFailed):
            open_sealed(sealed, other)


def test_a_value_that_was_written_over_that_of_another_tenant_does_not_open(arrived: Arrived):
    arrived.note(ALPHA, [wrapped(ALPHA)])
    beta = wrapped(BETA)
    arrived.note(BETA, [beta])
    sealed = seal(b"secret", payload_context(ALPHA, ROW))

    foreign = header_of(beta.id) + sealed[18:]

    for context in (payload_context(ALPHA, ROW), payload_context(BETA, ROW)):
        with pytest.raises(DecryptionFailed):
            open_sealed(foreign, context)


def test_a_wrapped_key_that_was_given_to_another_tenant_does_not_unwrap(arrived: Arrived):
    alpha = wrapped(ALPHA)
    arrived.note(BETA, [alpha._replace(tenant=BETA)])

    with pytest.raises(DecryptionFailed):
        seal(b"secret", payload_context(BETA, ROW))


def test_every_altered_byte_of_a_value_is_noticed(arrived: Arrived):
    arrived.note(ALPHA, [wrapped(ALPHA)])
    sealed = seal(b"secret", payload_context(ALPHA, ROW))

    for position in range(len(sealed)):
        altered = bytearray(sealed)
        altered[position] ^= 1
        with pytest.raises(DecryptionFailed):
            open_sealed(bytes(altered), payload_context(ALPHA, ROW))
    for cut in range(len(sealed)):
        with pytest.raises(DecryptionFailed):
            open_sealed(sealed[:cut], payload_context(ALPHA, ROW))


def test_without_a_data_key_the_key_of_the_deployment_seals_and_opens(arrived: Arrived):
    sealed = seal(b"secret", payload_context(ALPHA, ROW))
    assert key_id_of(sealed) == "test"

    arrived.note(ALPHA, [wrapped(ALPHA)])

    assert open_sealed(sealed, payload_context(ALPHA, ROW)) == b"secret"


def test_a_value_of_an_unknown_key_names_the_key(arrived: Arrived):
    key = wrapped(ALPHA)
    arrived.note(ALPHA, [key])
    sealed = seal(b"secret", payload_context(ALPHA, ROW))
    use_source(Arrived())

    with pytest.raises(DecryptionFailed, match=str(key.id)):
        open_sealed(sealed, payload_context(ALPHA, ROW))


def test_the_first_key_of_a_message_seals_and_the_others_open(arrived: Arrived):
    old, new = wrapped(ALPHA), wrapped(ALPHA)
    arrived.note(ALPHA, [old])
    before = seal(b"secret", payload_context(ALPHA, ROW))

    arrived.note(ALPHA, [new, old])

    assert open_sealed(before, payload_context(ALPHA, ROW)) == b"secret"
    assert key_id_of(seal(b"x", payload_context(ALPHA, ROW))) == str(new.id)


def test_a_message_from_before_a_rotation_that_arrives_late_brings_the_old_key_not_back(
    arrived: Arrived,
):
    old, new = wrapped(ALPHA), wrapped(ALPHA)
    arrived.note(ALPHA, [old])
    arrived.note(ALPHA, [new, old])

    arrived.note(ALPHA, [old])

    assert arrived.active(ALPHA) == new
    arrived.note(ALPHA, [new])
    assert arrived.active(ALPHA) == new


def test_a_key_derives_another_one_before_random_nonces_could_meet(
    arrived: Arrived, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(data_keys, "_SEALS_OF_A_SALT", 2)
    arrived.note(ALPHA, [wrapped(ALPHA)])

    sealed = [seal(b"x", payload_context(ALPHA, ROW)) for _ in range(5)]

    assert [len({one[18:34] for one in sealed[:end]}) for end in (2, 4, 5)] == [1, 2, 3]
    assert {open_sealed(one, payload_context(ALPHA, ROW)) for one in sealed} == {b"x"}


def test_a_forked_process_derives_a_key_of_its_own(arrived: Arrived):
    arrived.note(ALPHA, [wrapped(ALPHA)])
    before = seal(b"x", payload_context(ALPHA, ROW))

    data_keys._after_fork()

    assert seal(b"x", payload_context(ALPHA, ROW))[18:34] != before[18:34]


def test_caches_are_bounded(arrived: Arrived, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data_keys, "_KEPT", 3)
    tenants = [str(new_id()) for _ in range(6)]
    for tenant in tenants:
        arrived.note(tenant, [wrapped(tenant)])
        seal(b"x", payload_context(tenant, ROW))

    kept = (data_keys._known, data_keys._active, data_keys._ciphers)
    assert {len(one) for one in kept} == {3}
    assert [arrived.active(tenant) is not None for tenant in tenants] == [False] * 3 + [True] * 3
