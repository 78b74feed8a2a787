from __future__ import annotations

import pytest

from tests.executions.answers import problem
from tests.factories import ApiClient, make_client, make_tenant
from tests.support.receiving import deliver, receiving

PATH = "/v1/receiver"


@pytest.fixture
def receiver(settings, tmp_path):
    with receiving(settings, tmp_path) as url:
        yield url


def test_the_address_is_the_tenants_own(client: ApiClient, receiver: str):
    other = make_client(make_tenant("Gamma"))

    mine, theirs = client.get(PATH).json()["url"], other.get(PATH).json()["url"]

    assert mine.startswith(receiver)
    assert mine != theirs
    assert deliver(f"{mine}ok")[0] == 200


def test_where_no_receiver_runs_there_is_none(client: ApiClient, settings):
    settings.RECEIVER_URL = ""

    assert problem(client.get(PATH)) == (404, "no_receiver")
    assert problem(client.get(f"{PATH}/requests")) == (404, "no_receiver")
    assert problem(client.delete(f"{PATH}/requests")) == (404, "no_receiver")
