"""Every page and form of the console by every kind of visitor: who is refused, and how."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from http.cookies import SimpleCookie
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from shared.actor import COMMAND
from tenants.choices import Role
from tenants.models import Membership, SignIn, Tenant
from tenants.services import suspend_tenant
from tests.access.console_rights import (
    ALL,
    EMPTY,
    ENROL,
    ENROLMENT,
    FIELDS,
    GONE,
    LOGIN,
    METHODS,
    NO_METHOD,
    OPEN,
    REFUSED,
    TAKEN,
    VISITORS,
    answer,
)
from tests.access.console_routes import ROUTES, path_of
from tests.access.stored_rows import StoredRows
from tests.access.world import World, undone
from tests.support.api import make_tenant

pytestmark = pytest.mark.django_db

_CODES = {403: REFUSED, 404: GONE, 405: NO_METHOD}


@dataclass(frozen=True)
class Visitor:
    """A browser that begins each request with the same cookies, whatever the last one brought."""

    client: Client
    cookies: str

    def ask(self, method: str, path: str) -> Any:
        """Read the page, or send its form; undone in the database by the caller."""
        self.client.cookies = SimpleCookie(self.cookies)
        fields = FIELDS.get(path.rpartition("/")[2], {})
        return self.client.get(path) if method == "GET" else self.client.post(path, fields)


@pytest.fixture(scope="module")
def visitors(world: World) -> dict[str, Visitor]:
    """Return a visitor of each kind."""
    gone, strict, beta, kappa = map(make_tenant, ("Zeta", "Eta", "Theta", "Kappa"))
    suspend_tenant(gone.id, actor=COMMAND)
    Tenant.objects.filter(pk=strict.pk).update(second_factor_required=True)
    Tenant.objects.filter(pk=kappa.pk).update(provider_required=True)
    tenants: dict[str, list[Tenant]] = {
        "a member of no tenant": [],
        "a superuser of no tenant": [],
        "a suspended tenant's owner": [gone],
        "a member who must enrol": [world.tenant, strict],
        "an owner by password where a provider is required": [kappa],
        "a foreign viewer": [beta],
        "a foreign owner": [beta],
    }
    made = {}
    for kind, visit in VISITORS.items():
        user = User.objects.create_user(kind, is_superuser="superuser" in kind)
        for tenant in tenants.get(kind, [world.tenant]):
            Membership.objects.create(
                user=user,
                tenant=tenant,
                role=visit.role or Role.OWNER,
                sees_payloads=not visit.blind,
            )
        made[kind] = _visitor(kind, user)
    return made


def _visitor(kind: str, user: User) -> Visitor:
    client = Client(raise_request_exception=False)
    if kind == "no session":
        # A form of the login has brought it; without any cookie it is a program that asks.
        client.cookies["csrftoken"] = "x" * 32
    else:
        client.force_login(user)
    ends: dict[str, Any] = {
        "an ended session": {"ended_at": timezone.now(), "ended_by": "ended"},
        "an idle session": {"seen_at": timezone.now() - timedelta(days=30)},
    }
    if kind in ends:
        SignIn.objects.filter(user=user).update(**ends[kind])
    if "not active" in kind:
        User.objects.filter(pk=user.pk).update(is_active=False)
    return Visitor(client, client.cookies.output(header="", sep=";"))


def test_every_route_of_the_console_is_in_the_table_once():
    assert {*ALL, *OPEN} == set(ROUTES)
    assert not {*ALL} & OPEN


@pytest.mark.parametrize("route", ALL)
def test_a_visitor_is_answered_as_the_table_says_and_a_refusal_changes_nothing(
    world: World, stored: StoredRows, visitors: dict[str, Visitor], route: str
):
    wrong: list[Any] = []
    for method in METHODS:
        wanted = {kind: answer(route, method, visit) for kind, visit in VISITORS.items()}
        refused = [kind for kind in wanted if wanted[kind] != TAKEN]
        # Each has a session of its own, and one look is enough behind all that are refused.
        for kinds in (refused, *([kind] for kind in wanted if kind not in refused)):
            with undone():
                for kind in kinds:
                    got = visitors[kind].ask(method, path_of(route, world))
                    said = _kind_of(got, route)
                    if said != wanted[kind] or got.status_code >= 500:
                        wrong.append((kind, method, wanted[kind], said, got.status_code))
                if kinds is refused and (changed := stored.changed()):
                    wrong.append((kinds, method, "no change", changed, 0))

    assert not wrong, "\n".join(map(str, wrong))


def _kind_of(got: Any, route: str) -> str:
    """Return what an answer says to its visitor."""
    place = got.get("Location", "")
    # A form with typed text is offered again, behind the login.
    if place.startswith("/login") or got.status_code == 401:
        return LOGIN
    # A form of that page leads there, too, and says what came of it.
    led = place == "/account/second-factor" and not list(get_messages(got.wsgi_request))
    if led and route not in ENROLMENT:
        return ENROL
    if got.status_code == 302 and _is_gone(got):
        return GONE
    if got.status_code == 200 and got.content == b'{"alerts": []}':
        return EMPTY
    return _CODES.get(got.status_code, TAKEN)


def _is_gone(got: Any) -> bool:
    """Return whether a form was answered with a message that there is no such object."""
    said = [message for message in get_messages(got.wsgi_request) if message.level_tag == "error"]
    return any(str(message).startswith("There is no ") for message in said)
