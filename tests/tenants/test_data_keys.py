"""Where processes with the database find data keys, and which keys travel with messages."""

from __future__ import annotations

import base64
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from shared.data_keys import forget_all, header_of
from shared.encryption import seal
from shared.ids import new_id
from shared.sealing_contexts import payload_context
from tenants import data_keys
from tenants.data_keys import KeysOfMessages, Stored
from tenants.models import DataKey, Tenant
from tenants.services.data_keys import rotate_data_key
from tests.factories import ACTOR

pytestmark = pytest.mark.django_db


def ids(texts: list[str]) -> list[UUID]:
    return [UUID(bytes=base64.b64decode(text)[:16]) for text in texts]


def keys_of(tenant: Tenant) -> list[UUID]:
    found = DataKey.objects.filter(tenant=tenant).order_by("-generation")
    return list(found.values_list("id", flat=True))


def test_the_source_knows_the_key_that_seals_and_former_ones(alpha: Tenant, beta: Tenant):
    rotate_data_key(alpha.id, actor=ACTOR)
    new, old = keys_of(alpha)
    source = Stored()

    active, former = source.active(str(alpha.id)), source.find(old)

    assert active is not None
    assert former is not None
    assert (active.id, former.tenant) == (new, str(alpha.id))
    assert source.active(str(new_id())) is None
    assert source.find(new_id()) is None


def test_messages_have_the_keys_of_their_tenants_the_one_that_seals_first(
    alpha: Tenant, beta: Tenant
):
    rotate_data_key(alpha.id, actor=ACTOR)

    found = KeysOfMessages().of([(alpha.id, None), (beta.id, None)])

    assert {tenant: ids(texts) for tenant, texts in found.items()} == {
        alpha.id: keys_of(alpha),
        beta.id: keys_of(beta),
    }


def test_keys_are_kept_between_messages(alpha: Tenant):
    keys = KeysOfMessages()
    keys.of([(alpha.id, None)])

    with CaptureQueriesContext(
        connection,
    ) as asked:
        keys.of([(alpha.id, seal(b"x", payload_context(alpha.id, new_id())))] * 100)

    # The first seal asks for the key of the tenant.
    assert len(asked) <= 1


def test_a_value_of_a_key_that_was_made_meanwhile_brings_it_at_once(alpha: Tenant):
    keys = KeysOfMessages()
    keys.of([(alpha.id, None)])
    rotate_data_key(alpha.id, actor=ACTOR)
    forget_all()
    sealed = seal(b"x", payload_context(alpha.id, new_id()))
    assert sealed[:18] == header_of(keys_of(alpha)[0])

    found = keys.of([(alpha.id, sealed)])

    assert ids(found[alpha.id]) == keys_of(alpha)


def test_a_tenant_without_a_data_key_sends_none(alpha: Tenant):
    DataKey.objects.all().delete()

    assert KeysOfMessages().of([(alpha.id, b"\x01\x04test")]) == {alpha.id: []}


def test_kept_keys_are_bounded(alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(data_keys, "_KEPT", 1)
    keys = KeysOfMessages()

    for tenant in (alpha, beta, alpha):
        assert ids(keys.of([(tenant.id, None)])[tenant.id]) == keys_of(tenant)

    assert list(keys._kept) == [alpha.id]


def test_a_message_has_the_kept_keys_of_a_tenant_that_make_place_for_those_of_another(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(data_keys, "_KEPT", 1)
    keys = KeysOfMessages()
    keys.of([(alpha.id, None)])

    found = keys.of([(alpha.id, None), (beta.id, None)])

    assert {tenant: ids(texts) for tenant, texts in found.items()} == {
        alpha.id: keys_of(alpha),
        beta.id: keys_of(beta),
    }


def test_an_empty_value_needs_no_key(alpha: Tenant):
    keys = KeysOfMessages()
    keys.of([(alpha.id, None)])

    assert ids(keys.of([(alpha.id, b"")])[alpha.id]) == keys_of(alpha)
