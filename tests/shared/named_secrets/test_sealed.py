"""A sealed secret opens for its tenant and under its name only."""

from __future__ import annotations

from uuid import UUID

import pytest

from shared.encryption import DecryptionFailed
from shared.named_secrets.bindings import Binding
from shared.named_secrets.sealed import open_secret, seal_secret

TENANT = UUID(int=7)


def test_value_and_binding_come_back():
    blob = seal_secret(TENANT, "token", "s3cret", Binding(("a.example",), ("deploy",)))

    found = open_secret(blob, str(TENANT), "token")

    assert (found.value, found.binding) == ("s3cret", Binding(("a.example",), ("deploy",)))
    assert b"s3cret" not in blob


@pytest.mark.parametrize(("tenant", "name"), [(UUID(int=8), "token"), (TENANT, "other")])
def test_it_does_not_open_elsewhere(tenant, name):
    with pytest.raises(DecryptionFailed):
        open_secret(seal_secret(TENANT, "token", "s3cret", Binding()), tenant, name)


def test_an_opened_secret_does_not_print_its_value():
    blob = seal_secret(TENANT, "token", "s3cret", Binding())

    assert "s3cret" not in repr(open_secret(blob, TENANT, "token"))
