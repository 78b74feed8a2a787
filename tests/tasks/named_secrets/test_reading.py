"""Secrets are read sealed for messages, opened for a test, and only those of the tenant."""

from __future__ import annotations

import pytest

from shared.named_secrets.opened import NO_SECRETS, SecretUnavailable
from shared.named_secrets.sealed import open_secret
from tasks.named_secrets.reading import bindings_of, sealed_secrets, secrets_for
from tests.support.named_secrets import HOST, VALUE, make_secret, using

pytestmark = pytest.mark.django_db


def test_bindings_are_those_of_the_tenant_each_read_once(alpha, beta, django_assert_num_queries):
    make_secret(alpha)
    make_secret(beta, "other")
    find = bindings_of(alpha.id)

    with django_assert_num_queries(1):
        assert list(find(["token", "other"])) == ["token"]
        assert list(find(["token"])["token"].hosts) == [HOST]


def test_messages_get_what_is_used_of_each_tenant_and_nothing_else(
    alpha, beta, django_assert_num_queries
):
    make_secret(alpha)
    make_secret(alpha, "other")
    make_secret(beta, value="of-beta-value")

    with django_assert_num_queries(1):
        found = sealed_secrets({alpha.id: {"token", "gone"}, beta.id: {"other"}})

    assert list(found) == [alpha.id]
    assert open_secret(found[alpha.id]["token"], alpha.id, "token").value == VALUE
    with django_assert_num_queries(0):
        assert sealed_secrets({}) == {}


def test_a_test_gets_the_opened_secrets_of_its_target(alpha, beta):
    make_secret(alpha)

    assert secrets_for(alpha.id, using()).value_of("token") == VALUE
    assert secrets_for(alpha.id, {"auth": None}) is NO_SECRETS
    with pytest.raises(SecretUnavailable):
        secrets_for(beta.id, using()).value_of("token")
