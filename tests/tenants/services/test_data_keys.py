from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from shared import data_keys
from shared.conf import conf
from shared.data_keys import forget_all, seals_targets
from shared.encryption import DecryptionFailed, key_id_of, open_sealed, seal
from shared.exceptions import Conflict
from shared.ids import new_id
from shared.key_service import key_service
from shared.sealing_contexts import revision_context
from tenants.models import DataKey, Resealing, SigningSecret, Tenant
from tenants.services.data_keys import (
    MOST_KEYS,
    begin_sealing_targets,
    give_data_keys,
    reseal_tenant,
    rewrap_data_keys,
    rotate_data_key,
)
from tenants.signing import open_signing_secret
from tests.factories import ACTOR, make_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_masters(settings: Any, alpha: Tenant, beta: Tenant) -> None:
    """Make another key of the installation active, beside the one of the tests."""
    keys = {"new": b"n" * 32, **conf().encryption_keys}
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)


def masters() -> set[str]:
    found = DataKey.objects.values_list("wrapped", flat=True)
    return {key_service().master_of(bytes(one)) for one in found}


def secret_of(tenant: Tenant) -> str:
    forget_all()
    row = SigningSecret.objects.get(tenant=tenant)
    return open_signing_secret(bytes(row.sealed), tenant.id)


def test_rotating_the_master_wraps_keys_anew_and_leaves_values_as_they_are(
    two_masters: None, alpha: Tenant, settings: Any
):
    sealed = SigningSecret.objects.get(tenant=alpha).sealed
    before = secret_of(alpha)

    assert rewrap_data_keys() == (2, 0)

    assert masters() == {"new"}
    assert SigningSecret.objects.get(tenant=alpha).sealed == sealed
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys={"new": b"n" * 32})
    assert secret_of(alpha) == before
    assert rewrap_data_keys() == (0, 0)


def test_an_interrupted_rewrap_goes_on_with_the_next(two_masters: None):
    assert rewrap_data_keys(limit=1) == (1, 1)
    assert rewrap_data_keys(limit=1) == (1, 0)
    assert masters() == {"new"}


def test_a_key_whose_master_is_missing_is_an_error_and_stays(two_masters: None, settings: Any):
    settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys={"new": b"n" * 32})

    with pytest.raises(DecryptionFailed, match="'test'"):
        rewrap_data_keys()
    assert masters() == {"test"}


def test_tenants_without_a_key_get_one_and_others_keep_theirs(alpha: Tenant, beta: Tenant):
    kept = DataKey.objects.get(tenant=beta).id
    DataKey.objects.filter(tenant=alpha).delete()

    assert give_data_keys() == 1
    assert give_data_keys() == 0
    assert DataKey.objects.get(tenant=alpha).generation == 1
    assert DataKey.objects.get(tenant=beta).id == kept


def test_generations_are_counted(alpha: Tenant):
    made = rotate_data_key(alpha.id, actor=ACTOR)

    assert made.generation == 2
    states = DataKey.objects.filter(tenant=alpha).order_by("generation")
    assert [key.replaced_at is None for key in states] == [False, True]


def test_a_tenant_has_a_bounded_number_of_keys(alpha: Tenant):
    for _ in range(MOST_KEYS - 1):
        rotate_data_key(alpha.id, actor=ACTOR)
        Resealing.objects.update(ended_at="2026-01-01T00:00:00Z")

    with pytest.raises(Conflict) as refused:
        rotate_data_key(alpha.id, actor=ACTOR)

    assert refused.value.code == "too_many_keys"
    assert DataKey.objects.filter(tenant=alpha).count() == MOST_KEYS


class Undone(Exception):
    """What undoes a transaction."""


def test_a_rotation_that_is_undone_behind_a_value_of_its_key_seals_nothing_afterwards(
    alpha: Tenant,
):
    context = revision_context(alpha.id, new_id(), 1)
    within: list[bytes] = []

    @transaction.atomic
    def undone() -> None:
        rotate_data_key(alpha.id, actor=ACTOR)
        within.append(seal(b"{}", context))
        raise Undone

    forget_all()
    with pytest.raises(Undone):
        undone()

    sealed = seal(b"{}", context)

    [key] = DataKey.objects.filter(tenant=alpha)
    assert key_id_of(within[0]) != str(key.id)
    assert key_id_of(sealed) == str(key.id)
    forget_all()
    assert open_sealed(sealed, context) == b"{}"


def test_a_key_that_no_master_opens_does_not_hold_up_others(two_masters: None, alpha: Tenant):
    first = DataKey.objects.order_by("id").first()
    assert first is not None
    DataKey.objects.filter(pk=first.pk).update(wrapped=bytes(first.wrapped)[:-1] + b"x")

    assert rewrap_data_keys() == (1, 0)

    with pytest.raises(DecryptionFailed):
        rewrap_data_keys()
    assert masters() == {"new", "test"}


@pytest.fixture
def upgraded(alpha: Tenant, beta: Tenant) -> None:
    """Let both tenants be of an installation whose operator has not yet run ``keys reseal``."""
    DataKey.objects.update(seals_targets=False)
    forget_all()


def test_a_new_installation_seals_targets_at_once(alpha: Tenant, beta: Tenant):
    assert seals_targets(alpha.id)
    assert seals_targets(beta.id)


def test_a_new_tenant_of_an_upgraded_installation_waits_with_the_others(upgraded: None):
    assert not seals_targets(make_tenant("Gamma").id)

    assert begin_sealing_targets() == 3
    assert begin_sealing_targets() == 0
    assert seals_targets(make_tenant("Delta").id)


def test_a_key_that_a_rotation_has_made_meanwhile_seals_targets_too(upgraded: None, alpha: Tenant):
    updates: list[Any] = []

    def rotate(execute: Any, text: Any, *rest: Any) -> Any:
        answer = execute(text, *rest)
        if str(text).startswith('UPDATE "data_keys"') and not updates:
            updates.append(text)
            # The update waited for the former key, and does not see the one in its place.
            DataKey.objects.filter(tenant=alpha).update(seals_targets=False)
        return answer

    with connection.execute_wrapper(rotate):
        begin_sealing_targets()

    assert updates
    assert not DataKey.objects.filter(seals_targets=False).exists()


def test_a_rotation_locks_the_former_key_before_it_follows_it(alpha: Tenant):
    with CaptureQueriesContext(connection) as queries:
        rotate_data_key(alpha.id, actor=ACTOR)

    found = [text for one in queries if 'FROM "data_keys"' in (text := one["sql"] or "")]
    assert any(text.endswith("FOR NO KEY UPDATE") for text in found)


def test_a_tenant_without_a_data_key_keeps_a_new_one_from_sealing_targets(alpha: Tenant):
    DataKey.objects.all().delete()
    forget_all()

    assert not seals_targets(make_tenant("Gamma").id)
    assert not seals_targets(alpha.id)


def test_a_rotation_by_a_tenant_does_not_begin_to_seal_targets(upgraded: None, alpha: Tenant):
    rotate_data_key(alpha.id, actor=ACTOR)
    forget_all()

    assert not seals_targets(alpha.id)


def test_a_rotation_goes_on_with_sealing_targets(alpha: Tenant):
    rotate_data_key(alpha.id, actor=ACTOR)
    forget_all()

    assert seals_targets(alpha.id)


def test_the_first_key_that_a_tenant_makes_itself_does_not_begin_it(alpha: Tenant):
    DataKey.objects.all().delete()
    rotate_data_key(alpha.id, actor=ACTOR)
    forget_all()

    assert not seals_targets(alpha.id)


@pytest.mark.parametrize("rotates", [True, False])
def test_resealing_one_tenant_begins_it_for_that_tenant_alone(
    upgraded: None, alpha: Tenant, beta: Tenant, rotates: bool
):
    if rotates:
        # Its resealing is under way: the operator's word counts all the same.
        rotate_data_key(alpha.id, actor=ACTOR)

    reseal_tenant(alpha.id, actor=ACTOR)
    forget_all()

    assert seals_targets(alpha.id)
    assert not seals_targets(beta.id)


def test_a_process_follows_when_what_it_knows_of_the_key_is_over(upgraded: None, alpha: Tenant):
    assert not seals_targets(alpha.id)
    DataKey.objects.update(seals_targets=True)
    assert not seals_targets(alpha.id)

    data_keys._active.clear()

    assert seals_targets(alpha.id)
