"""One host has one name: every spelling, at every door, is one destination and one place to call.

The doors are those that take a URL or a host: the API, the console, the commands, limits, pauses
and filters of destinations, token URLs, proxies, redirects and push services.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import uuid4

import orjson
import pytest
from django.test import Client

from delivery.auth import ClientCredentials
from delivery.http_messages import Request, Response
from delivery.plan import Plan, read_plan
from delivery.redirects import redirected
from executions.destinations import limits
from shared.addresses import AllowList, UrlError, parse_target_url
from shared.conf import conf
from tasks.definition import from_stored
from tasks.models import Task
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.dashboard.conftest import browser  # noqa: F401 - fixtures
from tests.factories import ApiClient, daily, make_client, make_task
from tests.support.cast import alpha  # noqa: F401 - fixtures
from tests.support.command_calls import call
from tests.support.forms import form_at

pytestmark = pytest.mark.django_db

#: Name of the destination -> URLs that call it.
SPELLINGS = {
    "xn--fa-hia.de": ("https://faß.de/", "https://FAẞ.de.:0443/", "https://xn--fa-hia.de:/x"),
    "fass.de": ("https://fass.de/", "http://FASS.de.:00080/x?y"),
    "example.com": (
        *("https://example.com", "https://EXAMPLE.com./", "http://example.com:/x"),
        *("https://example.com:443/", "https://example.com:0443/", "https://ｅxample。com/a"),
        *("https://example.com/👩\u200d🚀/na\u200cme?q=☕#f", "https://example.com:80/"),
    ),
    "example.com:8443": ("https://example.com:8443/", "http://example.com.:08443/"),
    "127.0.0.1:9000": (
        *("http://127.0.0.1:9000/", "http://0x7f.1:09000/", "http://2130706433:9000/"),
        *("http://0177.0.0.01.:9000/", "http://１２７。１:9000/"),
    ),
}
ALLOWED = AllowList(["127.0.0.0/8"])
URLS = [(url, name) for name, urls in SPELLINGS.items() for url in urls]
#: As a host is written where no scheme stands before it.
BARE = {
    "xn--fa-hia.de": ("faß.de", "FAẞ.DE.", "faß.de:443", "XN--fa-hia.de:0080"),
    "example.com": ("example.com", "EXAMPLE.com.", "example.com:", "example.com:0443"),
    "127.0.0.1:9000": ("0x7f.1:9000", "2130706433:09000", "127.1.:9000"),
}
NAMES = [(text, name) for name, texts in BARE.items() for text in texts]


class Doors(NamedTuple):
    """What the doors need: a tenant with its key and browser, and a folder for files."""

    tenant: Tenant
    client: ApiClient
    console: Client
    folder: Path


@pytest.fixture(autouse=True)
def _loopback(settings: Any) -> None:
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.0/8",))


@pytest.fixture
def doors(alpha: Tenant, browser: Any, tmp_path: Path) -> Doors:  # noqa: F811 - fixtures
    return Doors(alpha, make_client(alpha), browser(alpha, role="admin"), tmp_path)


def _latest() -> Task:
    return Task.objects.order_by("-id")[0]


def _made(response: Any) -> Task:
    assert response.status_code in (200, 201), response.content
    return _latest()


def _patched(doors: Doors, url: str) -> Task:
    task = make_task(doors.tenant, daily())
    answer = doors.client.patch(f"/v1/tasks/{task.pk}", {"target": {"url": url}})
    assert answer.status_code == 200, answer.content
    return task


def _replaced(doors: Doors, url: str) -> Task:
    task = make_task(doors.tenant, daily())
    answer = doors.client.put(f"/v1/tasks/{task.pk}", daily(target={"url": url}))
    assert answer.status_code == 200, answer.content
    return task


def _bulk(doors: Doors, url: str) -> Task:
    body = {"tasks": [daily(target={"url": url})]}
    return _made(doors.client.post("/v1/tasks/bulk", body, idempotency_key=str(uuid4())))


def _short(doors: Doors, url: str) -> Task:
    body = {"cron_expression": "0 8 * * *", "payload": {"webhook_url": url}}
    return _made(doors.client.post("/v1/tasks", body, idempotency_key=str(uuid4())))


def _formed(doors: Doors, url: str) -> Task:
    fields = form_at(doors.console, "/tasks/new", url=url, cron_expression="0 8 * * *")
    answer = doors.console.post("/tasks/new", fields)
    assert answer.status_code == 302, answer.text
    return _latest()


def _form_edited(doors: Doors, url: str) -> Task:
    task = make_task(doors.tenant, daily())
    answer = doors.console.post(
        f"/tasks/{task.pk}/edit", form_at(doors.console, f"/tasks/{task.pk}/edit", url=url)
    )
    assert answer.status_code == 302, answer.text
    return task


def _pasted(doors: Doors, url: str) -> Task:
    fields = form_at(doors.console, "/tasks/new", pasted=f"0 8 * * * curl '{url}'", paste="1")
    filled = doors.console.post("/tasks/new", fields).context["fields"]
    return _formed(doors, filled["url"])


def _commanded(doors: Doors, url: str) -> Task:
    code, _, err = call("tasks", "create", "--url", url, "--cron", "0 8 * * *")
    assert code == 0, err
    return _latest()


def _command_edited(doors: Doors, url: str) -> Task:
    task = make_task(doors.tenant, daily())
    code, _, err = call("tasks", "edit", str(task.pk), "--url", url)
    assert code == 0, err
    return task


def _moved_over(doors: Doors, url: str) -> Task:
    """Return the copy that an export of the task makes where the task is no more."""
    task = _commanded(doors, url)
    file = doors.folder / "tasks.json"
    file.write_text(call("tasks", "export", str(task.pk)).out)
    task.delete()
    code, _, err = call("tasks", "create", "--file", str(file))
    assert code == 0, err
    return _latest()


_MAKING: dict[str, Callable[[Doors, str], Task]] = {
    "API create": lambda doors, url: _made(
        doors.client.post("/v1/tasks", daily(target={"url": url}), idempotency_key=str(uuid4()))
    ),
    "API create, short form": _short,
    "API bulk create": _bulk,
    "API edit": _patched,
    "API replace": _replaced,
    "form": _formed,
    "form of an edit": _form_edited,
    "pasted curl command": _pasted,
    "tasks create": _commanded,
    "tasks edit": _command_edited,
    "tasks export and create": _moved_over,
}


@pytest.mark.parametrize("door", _MAKING)
def test_every_spelling_of_a_host_is_one_destination_whatever_door_the_url_comes_by(
    doors: Doors, door: str
):
    for url, name in URLS:
        task = _MAKING[door](doors, url)

        task.refresh_from_db()
        # As written, also where it is sent otherwise; curl itself drops a fragment.
        assert url.startswith(read_definition(task).target["url"])
        assert (url, task.destination) == (url, name)


@pytest.mark.parametrize(("url", "name"), URLS)
def test_what_is_called_is_the_host_of_the_destination(url: str, name: str):
    target = {"url": url, "auth": _oauth(url), "proxy": None}
    host = name.partition(":")[0]

    plan = _plan(target)

    assert plan.url is not None
    assert isinstance(plan.auth, ClientCredentials)
    assert (plan.url.host, plan.auth.token_url.host) == (host, host)
    assert plan.url.authority in (name, f"{name}:80", f"{name}:443")
    assert plan.url.path_and_query.isascii()


@pytest.mark.parametrize(("url", "name"), URLS)
def test_a_proxy_is_reached_by_the_name_of_its_host(url: str, name: str):
    route = _plan({"url": "https://a.example/", "proxy": {"url": _plain_http(url)}}).route

    assert route is not None
    assert route.proxy is not None
    assert route.proxy.url.host == name.partition(":")[0]


@pytest.mark.parametrize(("url", "name"), URLS)
def test_a_redirect_to_another_spelling_of_the_host_is_to_the_host(url: str, name: str):
    here = parse_target_url(url, ALLOWED)
    request = Request("GET", here, [("Authorization", "s")], b"", 1, 1)

    found = redirected(
        request,
        Response(307, [("location", url)], b"", False, {}, "1.1.1.1"),
        private_headers=frozenset(),
        allow=ALLOWED,
        allowed_ports=(),
    )

    assert found is not None
    # What proves who calls stays with the host, in whatever spelling it is named.
    assert (found.url.host, found.headers) == (here.host, [("Authorization", "s")])


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_limits_circuits_and_pauses_of_a_host_hold_for_its_name(doors: Doors, text: str, name: str):
    task = make_task(doors.tenant, daily(target={"url": SPELLINGS[name][-1]}))
    path = f"/v1/destinations/{quote(text, safe='')}"

    limited = doors.client.patch(path, {"max_in_flight": 7})
    shown = doors.client.get(path).json()
    reset = doors.client.post(f"{path}/reset", {}, idempotency_key=str(uuid4()))
    paused = doors.client.post(
        "/v1/pauses", {"scope": "destination", "value": text}, idempotency_key=str(uuid4())
    )
    code, out, err = call("destinations", "show", text, "--json")

    assert (limited.status_code, reset.status_code) == (200, 200), limited.content
    assert (shown["host"], shown["tasks"], shown["max_in_flight"]) == (name, 1, 7)
    assert (code, orjson.loads(out)["host"]) == (0, name), err
    assert doors.console.get(f"/destinations/{quote(text, safe='')}").status_code == 200
    assert paused.status_code == 201, paused.content
    task.refresh_from_db()
    assert task.status == "PAUSED"


def test_a_list_of_destinations_finds_a_host_by_any_spelling(doors: Doors):
    for urls in SPELLINGS.values():
        make_task(doors.tenant, daily(target={"url": urls[0]}))

    for text, name in [*NAMES, *URLS]:
        answer = doors.client.get(f"/v1/destinations?q={quote(text, safe='')}").json()
        page = doors.console.get("/destinations", {"q": text})

        assert name in [one["host"] for one in answer["destinations"]], text
        # A search of the console takes no joiners.
        assert f">{name}<" in page.text or not text.isprintable(), text
        assert ">fass.de<" not in page.text or name == "fass.de"


def test_a_part_of_an_address_finds_what_it_is_part_of(alpha: Tenant):  # noqa: F811 - fixture
    make_task(alpha, daily(target={"url": "https://8.8.10.1/"}))

    # By itself it would be the address 8.0.0.10.
    found = limits.list_destinations(alpha.id, {"q": "8.10"})

    assert [one.host for one in found] == ["8.8.10.1"]


@pytest.mark.parametrize(
    "url", ["https://a..b/", "https://xn--a/", "https://☃.net/", "http://0x7f.1.1.1.1/"]
)
def test_what_names_no_host_is_refused_alike_by_each_door(doors: Doors, url: str):
    with pytest.raises(UrlError) as judged:
        parse_target_url(url, ALLOWED)

    created = doors.client.post(
        "/v1/tasks", daily(target={"url": url}), idempotency_key=str(uuid4())
    )
    fields = form_at(doors.console, "/tasks/new", url=url, cron_expression="0 8 * * *")
    formed = doors.console.post("/tasks/new", fields)
    commanded = call("tasks", "create", "--url", url, "--cron", "0 8 * * *")

    assert created.json()["errors"][0]["message"] == judged.value.message
    assert (formed.status_code, commanded.code) == (400, 2)
    assert judged.value.message in formed.text
    assert judged.value.message in commanded.err


def _oauth(url: str) -> dict[str, Any]:
    return {"type": "oauth2", "token_url": url, "client_id": "x", "client_secret": "s"}


def _plain_http(url: str) -> str:
    return "http://" + url.partition("://")[2]


def _plan(target: dict[str, Any]) -> Plan:
    made = from_stored({"name": "x", "type": "RECURRING", "schedule": {}, "target": target})
    return read_plan(made.target, None, policy=made.retry_policy, tenant="t", allow=ALLOWED)
