from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ImproperlyConfigured

from shared.encryption import DecryptionFailed
from shared.ids import new_id
from shared.key_service import key_service

KEY = new_id()
SECRET = b"s" * 32


class Outside:
    """A key service of a deployment's own."""

    def wrap(self, secret: bytes, tenant: str, key_id: UUID) -> bytes:
        return b"outside" + secret

    def unwrap(self, wrapped: bytes, tenant: str, key_id: UUID) -> bytes:
        return wrapped[7:]

    def master_of(self, wrapped: bytes) -> str:
        return "outside"

    def active_master(self) -> str:
        return "outside"


def test_a_wrapped_key_opens_for_its_tenant_and_id_alone():
    service = key_service()
    wrapped = service.wrap(SECRET, "alpha", KEY)

    assert SECRET not in wrapped
    assert service.unwrap(wrapped, "alpha", KEY) == SECRET
    assert service.master_of(wrapped) == service.active_master() == "test"
    for tenant, key in (("beta", KEY), ("alpha", new_id())):
        with pytest.raises(DecryptionFailed):
            service.unwrap(wrapped, tenant, key)


def test_a_setting_names_another_class(settings: Any):
    settings.KEY_SERVICE = f"{__name__}.Outside"

    assert key_service().wrap(SECRET, "alpha", KEY) == b"outside" + SECRET


def test_a_class_that_is_not_there_is_an_error(settings: Any):
    for path in (f"{__name__}.Missing", "no_such_module.Class", "Class"):
        settings.KEY_SERVICE = path
        with pytest.raises(ImproperlyConfigured, match="KEY_SERVICE"):
            key_service()
