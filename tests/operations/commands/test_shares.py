from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.support.backlogs import weigh
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.share_minutes import minute

pytestmark = pytest.mark.django_db


def test_every_tenants_share_is_one_line_per_pool(alpha: Tenant, beta: Tenant):
    weigh(beta, 3)
    minute(alpha, 1, 40.0, 30, 2.5)
    minute(beta, 1, 120.0, 130, 1.5)

    document = read_document("shares", call("shares", "--json").out)

    shown = {one["tenant"]: one for one in document["shares"]}
    assert (shown[alpha.name]["ratio"], shown[alpha.name]["weight"]) == (0.75, 1)
    assert (shown[beta.name]["received"], shown[beta.name]["weight"]) == (130, 3)


def test_one_tenant_is_shown_alone(alpha: Tenant, beta: Tenant):
    minute(alpha, 1, 40.0, 30, 2.5)
    minute(beta, 1, 120.0, 130, 1.5)

    said = call("shares", "--tenant", beta.name)

    assert beta.name in said.out
    assert alpha.name not in said.out


@pytest.mark.parametrize("minutes", ["0", "1441"])
def test_a_wrong_span_is_wrong_use(minutes: str):
    said = call("shares", "--minutes", minutes)

    assert said.code == 2
    assert not said.out


def test_an_unknown_tenant_is_not_found():
    assert call("shares", "--tenant", "nobody").code == 3
