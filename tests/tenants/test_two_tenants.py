"""Two tenants of one installation: what arrived for one, and backups, are out of the other's reach.

Rows of every kind are tried in ``tests/access``, by the API, the console and the commands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver
from drf_spectacular.generators import SchemaGenerator

from executions.triggering.receiver_requests import address_of, segment
from shared.conf import conf
from tenants.models import Tenant
from tests.factories import ApiClient, make_client, make_tenant, once
from tests.support.command_calls import call
from tests.support.live import make_member
from tests.support.receiving import deliver, receiving

pytestmark = pytest.mark.django_db
TOLD = "told-to-alpha-only"


@dataclass
class Two:
    """Alpha, to whom something arrived, and Beta, who wants to know."""

    alpha: Tenant
    beta: Tenant
    mine: ApiClient
    theirs: ApiClient
    port: int

    @property
    def kept(self) -> list[dict[str, Any]]:
        """Return what Alpha is told."""
        found: list[dict[str, Any]] = self.mine.get("/v1/receiver/requests").json()["requests"]
        return found


@pytest.fixture
def two(settings: Any, tmp_path: Any) -> Iterator[Two]:
    with receiving(settings, tmp_path) as url:
        port = int(url.rstrip("/").rsplit(":", 1)[1])
        allowed = (f"127.0.0.1/32:{port}",)
        settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=allowed)
        alpha, beta = make_tenant("Alpha"), make_tenant("Beta")
        found = Two(alpha, beta, make_client(alpha), make_client(beta), port)
        sent = {"authorization": f"Basic {TOLD}", "x_execution_token": TOLD, "webhook_id": TOLD}
        deliver(f"{address_of(alpha.id)}echo?q={TOLD}", body=TOLD.encode(), **sent)
        yield found


def test_by_the_api_each_tenant_is_told_and_forgets_its_own_alone(two: Two):
    for path in ("", "/requests", f"/requests?webhook_id={TOLD}", "/requests?path=/echo"):
        answer = two.theirs.get(f"/v1/receiver{path}")
        assert answer.status_code == 200
        assert TOLD not in answer.content.decode()
        assert segment(two.alpha.id) not in answer.content.decode()
    for wrong in (f"?segment={segment(two.alpha.id)}", f"?tenant_id={two.alpha.id}"):
        assert two.theirs.get(f"/v1/receiver/requests{wrong}").status_code == 400

    assert two.theirs.delete("/v1/receiver/requests").status_code == 204
    assert [one["body"] for one in two.kept] == [TOLD]


#: What a task of Beta's calls; ``own`` and ``other`` are Beta's and Alpha's parts of the path.
PATHS = [
    "/",
    "/requests",
    "/requests?limit=1000",
    "/requests/{other}",
    "/requests/{own}",
    "/connections",
    "/healthz",
    "/{own}/requests",
    "/{own}/../requests/{other}",
    "/{own}/%2e%2e/requests/{other}",
    "/{own}//requests/{other}",
    "/{own}/redirect?to=/requests/{other}",
    "/{own}/redirect?to=http://127.0.0.1:{port}/requests/{other}",
    "/{own}/chaos?to=/../requests/{other}",
    "/{own}/chaos?to=http://127.0.0.1:{port}/requests/{other}",
    "/{own}/chaos?to=/echo",
    "/{own}/echo",
    "/{own}/long-job",
]
HOSTS = ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "0177.0.0.1"]


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", PATHS)
def test_by_a_task_nothing_is_told_or_forgotten_even_to_who_knows_the_address(
    two: Two, path: str, method: str
):
    assert TOLD not in _called(two, "127.0.0.1", path, method)
    assert [one["body"] for one in two.kept] == [TOLD]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("proxied", [False, True], ids=["directly", "by itself as the proxy"])
def test_by_another_spelling_of_the_host_or_a_detour_nothing_is_told(
    two: Two, host: str, proxied: bool
):
    for path in ("/requests/{other}", "/connections"):
        target = {"proxy": {"url": f"http://127.0.0.1:{two.port}"}} if proxied else {}
        assert TOLD not in _called(two, host, path, "GET", **target)
    assert [one["body"] for one in two.kept] == [TOLD]


def test_by_the_console_no_page_names_another_tenants_address(two: Two):
    client = Client()
    client.force_login(make_member(two.beta))

    for path in ("/", "/tasks", "/tasks/new", "/executions", "/settings", "/search?q=echo"):
        shown = client.get(path).content.decode()
        assert TOLD not in shown
        assert segment(two.alpha.id) not in shown


def test_by_the_command_a_tenant_has_to_be_named_and_is_told_its_own(two: Two):
    unnamed = call("receiver", "requests")
    named = call("receiver", "requests", "--tenant", two.beta.name, "--json")

    assert unnamed.code == 2
    assert TOLD not in unnamed.out + unnamed.err + named.out + named.err
    assert call("receiver", "forget", "--tenant", two.beta.name).code == 0
    assert [one["body"] for one in two.kept] == [TOLD]


def test_a_backup_has_no_door_of_a_tenants():
    """It is the operator's: the API and the console have none, and commands take no tenant."""
    documented = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    routes = [*documented, *_routes(get_resolver())]

    assert [one for one in routes if "backup" in one or "restore" in one] == []
    for command in ("backup", "restore"):
        assert call(command, "--tenant", "Beta").code != 0


def _called(two: Two, host: str, path: str, method: str, **target: Any) -> str:
    """Return all that Beta is answered about a call of its own."""
    names = {"own": segment(two.beta.id), "other": segment(two.alpha.id), "port": two.port}
    url = f"http://{host}:{two.port}{path.format(**names)}"
    body = once(target={"url": url, "method": method, **target})
    answer = two.theirs.post("/v1/tasks/test", body)
    assert answer.status_code in (200, 400), answer.content
    seen = two.theirs.get("/v1/receiver/requests")
    return f"{answer.content.decode()}{seen.content.decode()}"


def _routes(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from _routes(one, prefix + str(one.pattern))
        elif isinstance(one, URLPattern):
            yield prefix + str(one.pattern)
