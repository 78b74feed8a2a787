"""A tenant whose values have an old key, and other keys in its place."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from shared.conf import conf
from tenants.models import Tenant
from tests.executions.resealing.stored import OLD, from_before_data_keys
from tests.factories import make_tenant
from workflows.plan import plan_of


@pytest.fixture
def use_keys(settings: Any) -> Callable[..., None]:
    """Take encryption keys into use; the first one seals."""

    def use(**keys: bytes) -> None:
        settings.PUNCTUAL = dataclasses.replace(conf(), encryption_keys=keys)
        plan_of.cache_clear()

    return use


@pytest.fixture
def tenant(use_keys: Callable[..., None], db: None) -> Tenant:
    """Return a tenant of an installation from before data keys: the deployment's key seals."""
    use_keys(old=OLD)
    return from_before_data_keys(make_tenant())
