"""``POST /v1/workers/actions``: keys of the operator's own tenants, where processes are public."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from events import audit
from events.models import AuditEntry
from shared.conf import conf
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import ApiClient
from tests.support.beats import beat
from wire.heartbeats import workers

URL = "/v1/workers/actions"


@pytest.fixture
def public(settings: Any) -> None:
    settings.PUNCTUAL = replace(conf(), processes_public=True)


@pytest.fixture
def operators(alpha: Tenant, public: None) -> Tenant:
    Tenant.objects.filter(pk=alpha.pk).update(unlimited=True)
    beat("w1", quiet=False)
    return alpha


def test_a_pool_is_made_quiet_and_its_state_shown(owner: ApiClient, operators: Tenant):
    answer = owner.post(URL, {"action": "quiet", "pool": "default"})

    assert answer.json() == {"changed": ["w1"], "unchanged": []}
    (shown,) = owner.get("/v1/workers").json()["workers"]
    assert (shown["id"], shown["state"], shown["settled"]) == ("w1", "quiet", False)
    entry = AuditEntry.objects.get(tenant_id=audit.INSTALLATION)
    assert (entry.action, entry.actor.partition(":")[0]) == ("worker.quieted", "api_key")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"action": "stop", "worker": "w1"}, 400),
        ({"action": "quiet"}, 400),
        ({"action": "quiet", "worker": "w1", "pool": "default"}, 400),
        ({"action": "quiet", "worker": 5}, 400),
        ({"action": "quiet", "worker": "w9"}, 404),
    ],
)
def test_other_bodies_are_refused(
    owner: ApiClient, operators: Tenant, body: dict[str, Any], status: int
):
    assert owner.post(URL, body).status_code == status
    assert [one.state for one in workers()] == ["live"]


def test_a_key_of_a_tenant_with_limits_is_refused(owner: ApiClient, alpha: Tenant, public: None):
    beat("w1", quiet=False)

    assert problem(owner.post(URL, {"action": "drain", "worker": "w1"})) == (403, "forbidden")
    assert [one.state for one in workers()] == ["live"]


def test_a_key_is_refused_where_processes_are_hidden(
    owner: ApiClient, operators: Tenant, settings: Any
):
    settings.PUNCTUAL = replace(conf(), processes_public=False)

    assert problem(owner.post(URL, {"action": "drain", "worker": "w1"})) == (403, "forbidden")
