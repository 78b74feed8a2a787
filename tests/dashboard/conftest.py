"""The standing cast of the console: two tenants, and browsers of their members."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tenants.choices import Role
from tenants.models import Membership, Tenant
from tests.support.cast import alpha, beta  # noqa: F401 - fixtures

Browser = Callable[..., Client]


@pytest.fixture
def browser() -> Browser:
    """Return what signs a member in: ``browser(tenant, role="viewer")``."""

    def signed_in(*tenants: Tenant, role: str = Role.OWNER) -> Client:
        user = User.objects.create_user(f"user{User.objects.count()}", password="a long password")
        for tenant in tenants:
            Membership.objects.create(user=user, tenant=tenant, role=role)
        client = Client()
        client.force_login(user)
        return client

    return signed_in
