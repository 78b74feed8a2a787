"""`/metrics` is closed until the operator opens it, and open to the right callers only."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from api import scraping
from executions.loop.clocks import database_now
from executions.models import Execution
from insight.metrics import collector
from insight.metrics.collector import Busy, Collector
from tests.factories import make_key, make_task, make_tenant, once, prepare

TOKEN = "a-token-of-a-scraper-0123456789abcdef"
ELSEWHERE = "198.51.100.9"
HERE = "192.0.2.7"


@pytest.fixture(autouse=True)
def _no_former_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scraping, "COLLECTOR", Collector())


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Any:
    def configure(**parts: Any) -> None:
        monkeypatch.setattr(settings, "PUNCTUAL", replace(settings.PUNCTUAL, **parts))

    return configure


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer without asking a server: these tests are about who may ask."""

    class Read:
        def scrape(self, accept: str) -> tuple[bytes, str]:
            return b"# EOF\n", "text/plain"

    monkeypatch.setattr(scraping, "COLLECTOR", Read())


def scrape(token: str | None = None, address: str = ELSEWHERE, **more: Any) -> Any:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return Client(REMOTE_ADDR=address).get("/metrics", headers={**headers, **more})


def test_it_is_closed_by_default(unread: None):
    answers = [scrape(), scrape(""), scrape("x"), scrape(address="127.0.0.1")]

    assert [answer.status_code for answer in answers] == [404] * 4
    assert "METRICS_TOKEN" in answers[0].json()["detail"]


def test_the_token_opens_it_and_no_other_text_does(unread: None, opened: Any):
    opened(metrics_token=TOKEN)

    assert scrape(TOKEN).status_code == 200
    for given in (None, "", " ", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ü", "\ud800"):
        answer = scrape(given)
        assert answer.status_code == 401, given
        assert answer["WWW-Authenticate"] == 'Bearer realm="metrics"'
        assert TOKEN not in answer.content.decode()


def test_the_token_counts_as_a_bearer_token_only(unread: None, opened: Any):
    opened(metrics_token=TOKEN)
    client = Client(REMOTE_ADDR=ELSEWHERE)

    assert client.get("/metrics", headers={"authorization": f"Basic {TOKEN}"}).status_code == 401
    assert client.get("/metrics", headers={"authorization": TOKEN}).status_code == 401
    assert client.get("/metrics", {"token": TOKEN}).status_code == 401
    assert client.get("/metrics", headers={"authorization": f"bearer {TOKEN}"}).status_code == 200


def test_the_networks_open_it_to_their_callers_without_a_token(unread: None, opened: Any):
    opened(metrics_networks=("192.0.2.0/24", "2001:db8::/32"))

    assert scrape(address=HERE).status_code == 200
    assert scrape(address=f"::ffff:{HERE}").status_code == 200
    assert scrape(address="2001:db8::1").status_code == 200
    assert scrape().status_code == 404
    assert scrape("").status_code == 404
    assert scrape(address="").status_code == 404


def test_an_address_that_a_caller_claims_opens_nothing(unread: None, opened: Any):
    opened(metrics_networks=("192.0.2.0/24",))

    for header in ("x-forwarded-for", "x-real-ip", "forwarded"):
        assert scrape(**{header: HERE}).status_code == 404


def test_a_webhook_of_a_tenant_reads_nothing_from_a_workers_address(unread: None, opened: Any):
    opened(metrics_networks=("192.0.2.0/24",))

    assert scrape(address=HERE, **{"webhook-id": "msg_1"}).status_code == 404
    assert scrape(address=HERE, **{"webhook-id": ""}).status_code == 404


def test_with_both_either_opens_it(unread: None, opened: Any):
    opened(metrics_networks=("192.0.2.0/24",), metrics_token=TOKEN)

    assert scrape(address=HERE).status_code == 200
    assert scrape(TOKEN).status_code == 200
    assert scrape().status_code == 401


@pytest.mark.django_db
def test_an_api_key_of_a_tenant_opens_nothing(unread: None, opened: Any):
    opened(metrics_token=TOKEN)
    _, key = make_key(make_tenant("Alpha"), scopes=["admin"])

    assert scrape(key).status_code == 401


def test_it_is_read_and_nothing_else(unread: None, opened: Any):
    opened(metrics_token=TOKEN)
    client = Client(headers={"authorization": f"Bearer {TOKEN}"})

    assert client.head("/metrics").status_code == 200
    for verb in (client.post, client.put, client.patch, client.delete):
        assert verb("/metrics").status_code in (403, 405)


def test_no_cache_keeps_it(unread: None, opened: Any):
    assert scrape()["Cache-Control"] == "no-store"
    opened(metrics_token=TOKEN)

    assert scrape(TOKEN)["Cache-Control"] == "no-store"


def test_a_scrape_that_cannot_be_answered_says_when_to_try_again(
    opened: Any, monkeypatch: pytest.MonkeyPatch
):
    opened(metrics_token=TOKEN)

    class Hung:
        def scrape(self, accept: str) -> None:
            raise Busy("reading")

    monkeypatch.setattr(scraping, "COLLECTOR", Hung())
    answer = scrape(TOKEN)

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")


@pytest.mark.django_db
def test_a_scrape_runs_as_the_web_and_names_no_tenant(opened: Any):
    opened(metrics_token=TOKEN)
    tenant = make_tenant("Verysecretname")
    make_task(tenant, once())
    prepare()
    Execution.objects.update(due_at=database_now() - timedelta(hours=1))

    text = scrape(TOKEN).content.decode()

    assert 'punctual_source_up{source="postgresql"} 1.0' in text
    assert 'punctual_source_up{source="redis"} 1.0' in text
    assert 'queue_depth{stage="due"} 1.0' in text
    assert "punctual_database_snapshot_seconds" in text
    assert "tenant=" not in text
    assert tenant.name not in text
    assert str(tenant.id) not in text
    assert TOKEN not in text


@pytest.mark.django_db
def test_the_most_delayed_tenants_are_named_by_id_where_the_operator_asks(opened: Any):
    opened(metrics_token=TOKEN, metrics_tenants=1)
    tenants = [make_tenant("Verysecretname"), make_tenant("Anothersecretname")]
    for tenant in tenants:
        make_task(tenant, once())
    prepare()
    Execution.objects.update(due_at=database_now() - timedelta(hours=1))

    text = scrape(TOKEN).content.decode()

    named = [str(tenant.id) for tenant in tenants if str(tenant.id) in text]
    assert len(named) == 1
    assert 'punctual_tenant_lag_seconds{tenant="other"}' in text
    assert "secretname" not in text


@pytest.mark.django_db
def test_openmetrics_is_answered_where_it_is_accepted(opened: Any):
    opened(metrics_token=TOKEN)

    answer = scrape(TOKEN, accept="application/openmetrics-text;version=1.0.0")

    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert answer.content.endswith(b"# EOF\n")
    assert collector.FRESH_SECONDS > 0


@pytest.mark.django_db
def test_a_version_that_nobody_writes_is_answered_in_the_text_format(opened: Any):
    opened(metrics_token=TOKEN)

    answer = scrape(TOKEN, accept="application/openmetrics-text;version=one")

    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
