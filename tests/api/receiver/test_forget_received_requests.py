from __future__ import annotations

from tenants.models import Tenant
from tests.executions.answers import problem
from tests.factories import ApiClient, make_client
from tests.support.receiving import deliver, receiving

PATH = "/v1/receiver/requests"


def test_what_arrived_is_forgotten(client: ApiClient, settings, tmp_path):
    with receiving(settings, tmp_path):
        deliver(f"{client.get('/v1/receiver').json()['url']}ok")

        assert client.delete(PATH).status_code == 204

        assert client.get(PATH).json() == {"requests": [], "kept": 0, "total": 1}


def test_a_key_that_may_only_read_forgets_nothing(alpha: Tenant, settings, tmp_path):
    with receiving(settings, tmp_path):
        assert problem(make_client(alpha, scopes=["read"]).delete(PATH))[0] == 403
