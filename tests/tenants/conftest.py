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
def owner(alpha: Tenant) -> ApiClient:
    return make_client(alpha, owner=True)


@pytest.fixture
def admin(alpha: Tenant) -> ApiClient:
    return make_client(alpha)


@pytest.fixture
def viewer(alpha: Tenant) -> ApiClient:
    return make_client(alpha, ["read"])


@pytest.fixture
def stranger(beta: Tenant) -> ApiClient:
    return make_client(beta, owner=True)
