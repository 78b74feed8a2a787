"""Who may read the OpenAPI document, in which formats, and how often a process makes it."""

from __future__ import annotations

import gzip
import threading
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiJsonRenderer2

from api.protocol import docs
from dashboard.middleware import POLICY
from shared.actor import COMMAND
from tenants.authority import OPERATOR
from tenants.models import Tenant
from tenants.services import revoke_api_key, suspend_tenant
from tests.support.api import ApiClient, make_client, make_key, make_tenant

pytestmark = pytest.mark.django_db
SCHEMA, PAGE = "/v1/schema/", "/v1/docs/"


@pytest.fixture
def alpha() -> Tenant:
    return make_tenant()


@pytest.fixture
def reader(alpha: Tenant) -> ApiClient:
    return make_client(alpha, ["read"])


@pytest.fixture
def person() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    return client


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "PUNCTUAL", replace(settings.PUNCTUAL, schema_public=True))


def test_it_is_refused_without_a_key_or_a_sign_in():
    answer = ApiClient().get(SCHEMA)

    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer["WWW-Authenticate"] == "Bearer"
    assert Client().get(PAGE)["Location"] == "/login?next=/v1/docs/"


@pytest.mark.parametrize("scope", ["read", "write", "operate", "worker", "admin"])
def test_any_key_reads_it(alpha: Tenant, scope: str):
    assert make_client(alpha, [scope]).get(SCHEMA).json()["openapi"].startswith("3.1")


def test_a_key_that_opens_nothing_does_not_open_it(alpha: Tenant, person: Client):
    made, revoked = make_key(alpha)
    revoke_api_key(alpha.id, made.id, actor=COMMAND, by=OPERATOR)
    bearer = {"authorization": f"Bearer {revoked}"}

    assert ApiClient(revoked).get(SCHEMA).status_code == 401
    assert person.get(SCHEMA, headers=bearer).status_code == 401
    _, suspended = make_key(alpha)
    suspend_tenant(alpha.id, actor=COMMAND)
    assert ApiClient(suspended).get(SCHEMA).status_code == 403


def test_a_signed_in_person_reads_it_and_its_page(person: Client):
    page = person.get(PAGE)
    script = person.get(f"{PAGE}?script=")

    assert page.status_code == 200
    assert b"https://" not in page.content
    assert page["Content-Security-Policy"] == POLICY
    assert b"/v1/schema/" in script.content
    assert script["Content-Type"].startswith("application/javascript")
    assert person.get(SCHEMA).json()["paths"]


def test_it_is_refused_after_signing_out(person: Client):
    person.logout()

    assert person.get(SCHEMA).status_code == 401
    assert person.get(PAGE).status_code == 302


@pytest.mark.usefixtures("public")
def test_it_needs_no_credentials_where_it_is_public():
    assert ApiClient().get(SCHEMA).status_code == 200
    assert ApiClient("no key at all").get(SCHEMA).status_code == 200
    assert Client().get(PAGE).status_code == 200


@pytest.mark.parametrize(
    ("accept", "served"),
    [
        ("application/json", "application/json"),
        ("application/json, text/plain, */*", "application/json"),
        ("application/vnd.oai.openapi+json", "application/vnd.oai.openapi+json"),
        ("application/yaml", "application/yaml"),
        ("application/vnd.oai.openapi", "application/vnd.oai.openapi"),
        ("application/json;q=0.2, application/yaml;q=0.9", "application/yaml"),
        ("application/yaml;q=0.5, application/json", "application/json"),
        ("application/vnd.oai.openapi+json;q=0, */*", "application/json"),
        ("*/*", "application/vnd.oai.openapi+json"),
        ("", "application/vnd.oai.openapi+json"),
    ],
)
def test_it_is_served_as_json_or_yaml_by_any_of_their_names(
    reader: ApiClient, accept: str, served: str
):
    answer = reader.get(SCHEMA, accept=accept)

    assert answer.status_code == 200
    assert answer["Content-Type"].split(";")[0] == served
    begin = b"openapi: 3.1" if served in _YAML else b"{"
    assert answer.content.startswith(begin)


_YAML = ("application/yaml", "application/vnd.oai.openapi")


def test_the_page_is_shown_to_callers_that_accept_html(person: Client):
    for accept in ("text/html", "*/*", "", "text/html,application/xhtml+xml,*/*;q=0.8"):
        assert person.get(PAGE, headers={"accept": accept}).status_code == 200


def test_the_format_may_be_named_in_the_query(reader: ApiClient):
    assert reader.get(f"{SCHEMA}?format=yaml").content.startswith(b"openapi:")
    assert reader.get(f"{SCHEMA}?format=json").json()["openapi"]
    as_page = {"accept": "text/html"}
    assert reader.get(f"{SCHEMA}?format=yaml", **as_page).content.startswith(b"openapi:")
    refused = reader.get(f"{SCHEMA}?format=xml")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "?format")


@pytest.mark.parametrize(
    ("path", "offered"),
    [
        (SCHEMA, ["application/json", "application/yaml"]),
        (PAGE, ["text/html"]),
        (f"{PAGE}?script=", ["application/javascript"]),
    ],
)
def test_accepting_none_of_its_formats_is_406_that_names_them(
    reader: ApiClient, person: Client, path: str, offered: list[str]
):
    given = {"accept": "application/xml"}
    answer = reader.get(path, **given) if path == SCHEMA else person.get(path, headers=given)

    assert answer.status_code == 406
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["code"] == "not_acceptable"
    assert [name for name in offered if name not in answer.json()["detail"]] == []


@pytest.mark.parametrize("accept", ["application/yaml", "application/xml", "text/html"])
def test_an_error_keeps_its_status_and_is_json_whatever_is_accepted(accept: str):
    answer = ApiClient().get(SCHEMA, accept=accept)

    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    posted = Client().post(PAGE, headers={"accept": accept})
    assert (posted.status_code, posted.json()["code"]) == (405, "method_not_allowed")
    assert posted["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_it_is_only_read(reader: ApiClient, method: str):
    assert reader.call(method, SCHEMA).status_code == 405


def test_it_is_sent_compressed_to_callers_that_accept_gzip(reader: ApiClient):
    plain = reader.get(SCHEMA)
    packed = reader.get(SCHEMA, accept_encoding="br, gzip;q=0.5")
    refused = reader.get(SCHEMA, accept_encoding="gzip;q=0, br")

    assert packed["Content-Encoding"] == "gzip"
    assert int(packed["Content-Length"]) == len(packed.content) < len(plain.content) / 5
    assert gzip.decompress(packed.content) == plain.content == refused.content
    assert "Content-Encoding" not in refused
    assert {"Accept", "Accept-Encoding", "Authorization", "Cookie"} <= set(
        plain["Vary"].split(", ")
    )


def test_a_caller_with_the_current_tag_is_answered_304(reader: ApiClient):
    first = reader.get(SCHEMA, accept_encoding="gzip")
    again = reader.get(SCHEMA, if_none_match=first["ETag"])
    yaml = reader.get(SCHEMA, accept="application/yaml", if_none_match=first["ETag"])

    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert yaml.status_code == 200
    assert reader.get(SCHEMA, if_none_match='"another"').status_code == 200
    assert ApiClient().get(SCHEMA, if_none_match=first["ETag"]).status_code == 401


def test_simultaneous_callers_make_it_once(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    begun, may_go_on = threading.Event(), threading.Event()

    def make(renderer: Any) -> docs.Document:
        made.append(renderer.format)
        begun.set()
        assert may_go_on.wait(30)
        return docs.Document(gzip.compress(b"{}"), 'W/"x"')

    monkeypatch.setattr(docs, "_make", make)
    documents, found = docs._Documents(), []
    renderer = OpenApiJsonRenderer()
    asking = [
        threading.Thread(target=lambda: found.append(documents.get(renderer))) for _ in range(8)
    ]
    for thread in asking:
        thread.start()
    assert begun.wait(30)
    may_go_on.set()
    for thread in asking:
        thread.join(30)

    assert made == ["json"]
    assert len({id(one) for one in found}) == 1
    assert documents.get(OpenApiJsonRenderer2()) is found[0]


def test_every_process_gives_it_the_same_tag():
    first, second = docs._Documents(), docs._Documents()

    assert first.get(OpenApiJsonRenderer()) == second.get(OpenApiJsonRenderer())
