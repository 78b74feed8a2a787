from __future__ import annotations

from typing import Any

import pytest

from events.models import AuditEntry
from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import ApiClient, make_client, make_tenant
from tests.support.receiving import deliver, receiving
from tests.support.recounting import recounts

PATH = "/v1/receiver/requests"


@pytest.fixture
def address(settings, tmp_path, client: ApiClient):
    with receiving(settings, tmp_path):
        yield client.get("/v1/receiver").json()["url"]


@recounts("receiver.requests")
def test_what_arrived_is_listed_newest_first(client: ApiClient, address: str):
    deliver(f"{address}ok", body=b'{"n":1}')
    deliver(f"{address}status/204", "PUT", b"\xff")

    found = client.get(PATH).json()

    assert (found["kept"], found["total"]) == (2, 2)
    second, first = found["requests"]
    assert (first["method"], first["path"], first["status"]) == ("POST", "/ok", 200)
    assert (first["body"], first["body_encoding"]) == ('{"n":1}', "text")
    assert (second["body"], second["body_encoding"]) == ("/w==", "base64")


def test_credentials_that_arrived_are_hidden_from_a_key_that_may_only_read(
    alpha: Tenant, address: str
):
    carried: dict[str, Any] = {
        "Authorization": "Basic c2VjcmV0",
        "Cookie": "session=secret",
        "X_Execution_Token": "secret",
        "X_Api_Key": "secret",
    }
    deliver(f"{address}verify?secret=whsec_c2VjcmV0&n=1", webhook_signature="v1,x", **carried)
    deliver(f"{address}chaos?to=%2Fverify%3Fsecret%3Dwhsec_c2VjcmV0")

    shown = make_client(alpha, scopes=["read"]).get(PATH)

    assert b"c2VjcmV0" not in shown.content
    assert b"=secret" not in shown.content
    headers = shown.json()["requests"][-1]["headers"]
    assert headers["authorization"] == headers["x-execution-token"] == "hidden"
    assert headers["webhook-signature"] == "v1,x"


def test_who_reads_what_arrived_has_one_entry_an_hour(
    client: ApiClient, alpha: Tenant, address: str
):
    read = AuditEntry.objects.filter(action="payload.read")
    client.get(PATH)
    assert not read.exists()
    deliver(f"{address}ok", body=b'{"n":1}')

    for _ in range(2):
        assert client.get(PATH).status_code == 200

    assert [(one.object_kind, one.object_id) for one in read] == [("receiver", str(alpha.id))]


def test_another_tenant_sees_nothing_of_it(client: ApiClient, address: str):
    deliver(f"{address}ok")
    other = make_client(make_tenant("Gamma"))

    assert other.get(PATH).json()["requests"] == []
    assert other.delete(PATH).status_code == 204
    assert len(client.get(PATH).json()["requests"]) == 1


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "segment=x"])
def test_a_query_that_is_wrong_is_refused(client: ApiClient, address: str, query: str):
    assert problem(client.get(f"{PATH}?{query}"))[0] == 400


def test_a_receiver_that_is_away_is_no_fault_of_the_caller(client: ApiClient, settings, tmp_path):
    with receiving(settings, tmp_path):
        pass

    assert problem(client.get(PATH)) == (503, "unavailable")
