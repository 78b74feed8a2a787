"""No page of console, admin, sign-in or documentation needs what the policy forbids."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import NoReverseMatch, reverse

from dashboard.middleware import POLICY
from tenants.choices import Role
from tenants.models import Membership
from tests.access.console_routes import ROUTES, path_of
from tests.access.world import World, undone

pytestmark = pytest.mark.django_db
_MODELS: list[Any] = sorted(admin.site._registry, key=lambda one: str(one._meta.label))
#: Attributes by which a page loads something.
_LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class _Findings(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags += 1
        if tag == "style" or (tag == "script" and "src" not in given and not _is_data(given)):
            self.found.append(f"inline <{tag}>")
        for name, value in given.items():
            if name == "style" or name.startswith("on"):
                self.found.append(f"{name} of <{tag}>")
            if value.strip().lower().startswith("javascript:"):
                self.found.append(f"script in {name} of <{tag}>")
        place = given.get(_LOADED.get(tag, ""), "")
        if place.startswith(("http:", "https:", "//")) and given.get("rel") != "canonical":
            self.found.append(f"{place} in <{tag}>")


def _is_data(given: dict[str, str]) -> bool:
    return given.get("type", "") in {"application/json", "text/template"}


def findings(text: str) -> list[str]:
    parser = _Findings()
    parser.feed(text)
    return parser.found


@pytest.fixture(scope="module")
def owner(world: World) -> Client:
    user = User.objects.create_superuser("policy")
    Membership.objects.create(user=user, tenant=world.tenant, role=Role.OWNER)
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def _judge(answer: Any, path: str) -> None:
    assert answer["Content-Security-Policy"] == POLICY, path
    if answer["Content-Type"].startswith("text/html"):
        assert findings(answer.content.decode()) == [], path


@pytest.mark.parametrize("route", ROUTES)
def test_no_page_of_the_console_needs_what_the_policy_forbids(
    world: World, owner: Client, route: str
):
    path = path_of(route, world)
    with undone():
        _judge(owner.get(path), path)


@pytest.mark.parametrize("model", _MODELS)
def test_no_page_of_the_admin_does(world: World, owner: Client, model: Any):
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    first = model._base_manager.order_by("pk").first()
    pages = [("changelist", []), ("add", []), *([("change", [first.pk])] if first else [])]
    for page, args in pages:
        try:
            path = reverse(f"{name}_{page}", args=args)
        except NoReverseMatch:
            continue
        with undone():
            _judge(owner.get(path), path)


@pytest.mark.parametrize("path", ["/login", "/admin/", "/v1/docs/", "/no-such-page"])
def test_no_other_page_does(owner: Client, path: str):
    with undone():
        _judge(owner.get(path), path)
        _judge(Client(raise_request_exception=False).get(path), path)


@pytest.mark.parametrize(
    "text",
    [
        "<script>x()</script>",
        "<style>a{}</style>",
        '<p style="color:red">',
        '<button onclick="x()">',
        '<a href=" JavaScript:x()">',
        '<script src="https://cdn.example.com/x.js"></script>',
        '<link rel="stylesheet" href="//cdn.example.com/x.css">',
    ],
)
def test_the_rule_finds_what_the_policy_forbids(text: str):
    assert len(findings(text)) == 1


def test_the_rule_leaves_files_of_this_host_and_data_alone():
    assert not findings(
        '<script src="/static/a.js"></script><script type="application/json">{}</script>'
    )
    assert not findings('<a href="https://example.com">x</a><img src="data:image/png;base64,x">')
