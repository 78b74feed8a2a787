from __future__ import annotations

from tenants.models import Tenant
from tests.executions.answers import problem
from tests.executions.leasing import work
from tests.factories import ApiClient

PATH = "/v1/pools"


def test_pools_are_listed_by_name_with_how_they_stand(client: ApiClient, alpha: Tenant):
    work(alpha, 2, pool="mail")
    client.patch(f"{PATH}/batch", {"paused": True})

    shown = client.get(PATH).json()["pools"]

    assert [(one["name"], one["depth"], one["paused"]) for one in shown] == [
        ("batch", 0, True),
        ("mail", 2, False),
    ]


def test_there_may_be_none(client: ApiClient):
    assert client.get(PATH).json() == {"pools": []}


def test_another_tenants_pools_are_not_listed(stranger: ApiClient, alpha: Tenant):
    work(alpha)

    assert stranger.get(PATH).json() == {"pools": []}


def test_unknown_parameters_are_400(client: ApiClient):
    assert problem(client.get(f"{PATH}?paused=true"))[0] == 400
