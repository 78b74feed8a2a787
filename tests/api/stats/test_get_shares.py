from __future__ import annotations

import pytest

from tenants.models import Tenant
from tests.factories import ApiClient
from tests.support.backlogs import weigh
from tests.support.share_minutes import minute

pytestmark = pytest.mark.django_db
PATH = "/v1/shares"


def test_the_share_of_each_scarce_pool_is_answered_by_minute(client: ApiClient, alpha: Tenant):
    weigh(alpha, 3)
    minute(alpha, 2, 40.0, 30, 2.5)
    minute(alpha, 1, 40.0, 50, 1.0)

    answer = client.get(PATH)

    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["weight"], shown["minutes"]) == (3, 60)
    (pool,) = shown["pools"]
    assert (pool["pool"], pool["due"], pool["received"], pool["ratio"]) == ("default", 80, 80, 1)
    assert [one["received"] for one in pool["by_minute"]] == [30, 50]


def test_the_span_is_chosen(client: ApiClient, alpha: Tenant):
    minute(alpha, 90, 40.0, 30)

    assert client.get(PATH).json()["pools"] == []
    assert len(client.get(f"{PATH}?minutes=100").json()["pools"]) == 1


@pytest.mark.parametrize("minutes", ["0", "1441", "x", ""])
def test_a_wrong_span_is_refused(client: ApiClient, minutes: str):
    answer = client.get(f"{PATH}?minutes={minutes}")

    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "?minutes"


def test_another_tenants_share_is_not_answered(client: ApiClient, beta: Tenant):
    minute(beta, 1, 40.0, 30)

    assert client.get(PATH).json()["pools"] == []
