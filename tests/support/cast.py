"""The standing cast: tenants alpha and beta, and clients with a key of one.

A folder's ``conftest.py`` imports the fixtures that its tests ask for.
"""

from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.support.api import ApiClient, make_client, make_tenant


@pytest.fixture
def alpha(db: None) -> Tenant:
    return make_tenant("Alpha")


@pytest.fixture
def beta(db: None) -> Tenant:
    return make_tenant("Beta")


@pytest.fixture
def client(alpha: Tenant) -> ApiClient:
    """Return a client of alpha that may do everything but manage keys."""
    return make_client(alpha)


@pytest.fixture
def owner(alpha: Tenant) -> ApiClient:
    """Return a client of alpha that owns it."""
    return make_client(alpha, owner=True)


@pytest.fixture
def viewer(alpha: Tenant) -> ApiClient:
    """Return a client of alpha that may only read."""
    return make_client(alpha, ["read"])


@pytest.fixture
def stranger(beta: Tenant) -> ApiClient:
    """Return a client of another tenant that may do everything there."""
    return make_client(beta, owner=True)


@pytest.fixture
def nobody(db: None) -> ApiClient:
    """Return a client without a key."""
    return ApiClient()
