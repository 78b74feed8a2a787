"""The world that every page of this folder counts: two tenants, the second with twice as much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.test import Client

from shared.conf import conf
from tenants.choices import Role
from tenants.models import Membership, Tenant
from tests.factories import make_tenant
from tests.recount.world import make_fleet, make_schedules, make_work


class Seen(NamedTuple):
    """A tenant and the browser of its owner."""

    tenant: Tenant
    browser: Client


@pytest.fixture
def each(transactional_db: Any, settings: Any) -> list[Seen]:
    """Return both tenants, whose worlds stand, where all may see the processes that serve them."""
    settings.PUNCTUAL = replace(conf(), processes_public=True)
    tenants = make_tenant("Alpha"), make_tenant("Beta")
    make_work(*tenants)
    make_fleet(*tenants)
    make_schedules(*tenants)
    return [Seen(tenant, _browser(tenant)) for tenant in tenants]


def _browser(tenant: Tenant) -> Client:
    user = User.objects.create_user(f"owner of {tenant.name}", password="a long password")
    Membership.objects.create(user=user, tenant=tenant, role=Role.OWNER)
    browser = Client()
    browser.force_login(user)
    return browser
