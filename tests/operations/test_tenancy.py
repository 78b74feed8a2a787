from __future__ import annotations

import pytest

from operations.tenancy import chosen_tenant
from shared.exceptions import InvalidInput, NotFound
from tenants.models import Tenant


def test_the_only_tenant_need_not_be_named(alpha: Tenant):
    assert chosen_tenant(None) == alpha


def test_of_several_tenants_one_must_be_named(alpha: Tenant, beta: Tenant):
    assert chosen_tenant("Beta") == beta
    with pytest.raises(InvalidInput):
        chosen_tenant(None)


@pytest.mark.django_db
def test_without_any_tenant_it_says_how_to_make_one():
    with pytest.raises(NotFound, match="tenant create NAME"):
        chosen_tenant(None)
