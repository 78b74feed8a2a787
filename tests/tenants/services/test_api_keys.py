from __future__ import annotations

import inspect
import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from events.models import AuditEntry
from shared.actor import COMMAND
from shared.exceptions import Conflict, InvalidInput, NotFound
from tenants.authority import OPERATOR
from tenants.models import ApiKey
from tenants.services import (
    create_api_key,
    edit_api_key,
    get_api_key,
    revoke_api_key,
    rotate_api_key,
)
from tenants.services.api_keys import hash_key


def _create(tenant, **options):
    wanted = {
        "name": "ci",
        "scopes": ["write", "read"],
        "actor": COMMAND,
        "by": OPERATOR,
        **options,
    }
    return create_api_key(tenant, **wanted)


def test_a_made_key_shows_its_prefix_and_only_its_hash_is_kept(alpha):
    made, key = _create(alpha)

    stored = ApiKey.objects.get(pk=made.pk)
    assert re.fullmatch(r"pk_[a-z0-9]{9}_[A-Za-z0-9_-]{43}", key)
    assert key.startswith(stored.prefix)
    assert bytes(stored.key_hash) == hash_key(key)
    assert stored.scopes == ["read", "write"]


def test_a_given_key_is_taken_exactly_as_it_is(alpha):
    given = "!" + "~" * 31

    made, key = _create(alpha, key=given)

    assert key == given
    assert bytes(made.key_hash) == hash_key(given)


@pytest.mark.parametrize("given", ["x" * 31, "x" * 129, "x" * 31 + " ", "x" * 31 + "ä"])
def test_a_given_key_has_32_to_128_visible_characters(alpha, given):
    with pytest.raises(InvalidInput):
        _create(alpha, key=given)


def test_the_same_key_twice_is_a_conflict_even_for_another_tenant(alpha, beta):
    _create(alpha, key="x" * 32)

    with pytest.raises(Conflict) as raised:
        _create(beta, key="x" * 32)

    assert raised.value.code == "key_taken"


def test_unknown_scopes_and_past_ends_are_refused(alpha):
    with pytest.raises(InvalidInput) as raised:
        _create(alpha, scopes=["root"], expires_at=timezone.now())

    assert [error.pointer for error in raised.value.errors] == ["#/scopes", "#/expires_at"]


def test_a_revoked_key_stays_revoked_since_the_first_time(alpha):
    made, _ = _create(alpha)

    first = revoke_api_key(alpha.id, made.id, actor=COMMAND, by=OPERATOR).revoked_at
    second = revoke_api_key(alpha.id, made.id, actor=COMMAND, by=OPERATOR).revoked_at

    assert first == second
    assert AuditEntry.objects.filter(action="api_key.revoked").count() == 1


def test_a_rotated_key_is_followed_by_one_like_it_and_ends_after_the_overlap(alpha):
    made, _ = _create(alpha, owner=True)

    follower, _ = rotate_api_key(alpha.id, made.id, overlap_seconds=60, actor=COMMAND, by=OPERATOR)

    old = ApiKey.objects.get(pk=made.pk)
    assert old.is_valid_at(timezone.now())
    assert not old.is_valid_at(timezone.now() + timedelta(seconds=61))
    assert (follower.name, follower.scopes, follower.owner) == ("ci", ["read", "write"], True)


def test_the_follower_of_a_key_that_expires_ends_when_that_was_to_end(alpha):
    ends_at = timezone.now() + timedelta(days=3)
    made, _ = _create(alpha, expires_at=ends_at)

    follower, _ = rotate_api_key(alpha.id, made.id, overlap_seconds=60, actor=COMMAND, by=OPERATOR)

    assert ApiKey.objects.get(pk=follower.pk).expires_at == ends_at


def test_the_follower_may_be_given_an_end_of_its_own(alpha):
    made, _ = _create(alpha, expires_at=timezone.now() + timedelta(days=3))
    later = timezone.now() + timedelta(days=30)

    follower, _ = rotate_api_key(alpha.id, made.id, expires_at=later, actor=COMMAND, by=OPERATOR)

    assert ApiKey.objects.get(pk=follower.pk).expires_at == later


def test_an_invalid_key_cannot_be_rotated(alpha):
    made, _ = _create(alpha)
    revoke_api_key(alpha.id, made.id, actor=COMMAND, by=OPERATOR)

    with pytest.raises(Conflict):
        rotate_api_key(alpha.id, made.id, actor=COMMAND, by=OPERATOR)


def test_another_tenants_key_does_not_exist(alpha, beta):
    made, _ = _create(alpha)

    for tenant_id, key_id in ((beta.id, made.id), (alpha.id, uuid4())):
        with pytest.raises(NotFound):
            get_api_key(tenant_id, key_id)


def test_the_audit_log_knows_the_prefix_but_not_the_key(alpha):
    made, key = _create(alpha)

    entry = AuditEntry.objects.get(action="api_key.created", object_id=str(made.id))
    assert made.prefix in str(entry.after)
    assert key not in str(entry.after)


def test_a_key_gets_no_name_with_hidden_characters_and_a_rotation_keeps_one(alpha):
    with pytest.raises(InvalidInput):
        create_api_key(alpha, name="c\u200bi", scopes=["read"], actor=COMMAND, by=OPERATOR)
    made, _ = create_api_key(alpha, name="ci", scopes=["read"], actor=COMMAND, by=OPERATOR)
    ApiKey.objects.filter(pk=made.pk).update(name="c\u200bi")

    rotated, _ = rotate_api_key(alpha.id, made.id, actor=COMMAND, by=OPERATOR)

    assert rotated.name == "c\u200bi"


@pytest.mark.parametrize(
    "service",
    [create_api_key, edit_api_key, revoke_api_key, rotate_api_key],
    ids=lambda one: one.__name__,
)
def test_no_service_of_keys_takes_its_caller_for_the_operator(service):
    assert inspect.signature(service).parameters["by"].default is inspect.Parameter.empty
