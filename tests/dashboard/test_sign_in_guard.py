"""No session reaches a page unless its row is open and its second factor was given."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from dashboard import urls
from tenants.choices import SignInEnd
from tenants.models import Membership, SignIn, Tenant
from tenants.services.sign_ins import SIGN_IN, end_sign_ins
from tests.factories import ACTOR
from tests.support.second_factors import enrol

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
SECURE = "__Host-sessionid"


@pytest.fixture
def ann(alpha: Tenant) -> User:
    user = User.objects.create_superuser("ann", password=PASSWORD)
    Membership.objects.create(user=user, tenant=alpha, role="owner")
    return user


def signed_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def unrecorded(user: User) -> Client:
    """Return a browser whose session began before sessions were recorded."""
    client = signed_in(user)
    session = client.session
    del session[SIGN_IN]
    session.save()
    SignIn.objects.all().delete()
    return client


def is_signed_in(client: Client) -> bool:
    return client.get("/pulse").status_code == 204


def test_a_sign_in_is_recorded_with_device_and_address(ann):
    client = Client(HTTP_USER_AGENT="Firefox/140", REMOTE_ADDR="192.0.2.7")
    client.post("/login", {"username": "ann", "password": PASSWORD})

    row = SignIn.objects.get(user=ann)
    assert (row.user_agent, row.address, row.by_factor) == ("Firefox/140", "192.0.2.7", False)
    assert client.session[SIGN_IN] == str(row.pk)


@pytest.mark.parametrize(
    "parts",
    [
        {"seen_at": timezone.now() - timedelta(hours=12, seconds=1)},
        {"began_at": timezone.now() - timedelta(days=14, seconds=1)},
        {"ended_at": timezone.now(), "ended_by": SignInEnd.ENDED},
    ],
)
@pytest.mark.parametrize("path", ["/", "/account", "/admin/", "/v1/docs/"])
def test_an_idle_old_or_ended_session_reaches_no_page(ann, parts, path):
    client = signed_in(ann)
    assert client.get(path).status_code == 200
    SignIn.objects.update(**parts)

    answer = client.get(path)

    assert answer.status_code in (302, 401, 403), path
    assert not Session.objects.exists()


def test_a_session_without_its_row_is_none(ann):
    client = signed_in(ann)
    session = client.session
    session[SIGN_IN] = "made up"
    session.save()

    assert not is_signed_in(client)


def test_the_row_of_another_person_opens_nothing(ann):
    bob = signed_in(User.objects.create_user("bob"))
    client = signed_in(ann)
    session = client.session
    session[SIGN_IN] = bob.session[SIGN_IN]
    session.save()

    assert not is_signed_in(client)


def test_signing_out_ends_the_row(ann):
    client = signed_in(ann)

    client.post("/logout")

    assert SignIn.objects.get().ended_by == SignInEnd.SIGNED_OUT


def test_signing_in_again_takes_the_place_of_the_browsers_session(ann):
    client = signed_in(ann)
    client.force_login(ann)

    assert SignIn.objects.filter(ended_at=None).count() == 1
    assert is_signed_in(client)


def test_the_id_of_a_session_changes_at_sign_in(ann):
    client = Client()
    client.get("/login")
    session = client.session
    session["planted"] = 1
    session.save()
    planted = session.session_key
    client.cookies[settings.SESSION_COOKIE_NAME] = str(planted)

    client.post("/login", {"username": "ann", "password": PASSWORD})

    assert client.session.session_key != planted
    assert not Session.objects.filter(pk=planted).exists()


def test_a_session_from_before_the_upgrade_goes_on_and_is_recorded(ann):
    client = unrecorded(ann)

    assert is_signed_in(client)
    assert is_signed_in(client)
    assert str(SignIn.objects.get(user=ann).pk) == client.session[SIGN_IN]


def test_a_session_from_before_the_upgrade_ends_with_all_others(ann):
    client = unrecorded(ann)
    end_sign_ins(ann.pk, SignInEnd.ENDED, actor=ACTOR)

    assert not is_signed_in(client)


def test_a_session_from_before_the_upgrade_does_not_pass_a_second_factor(ann):
    client = unrecorded(ann)
    enrol(ann)

    assert not is_signed_in(client)


@pytest.fixture
def secure(settings):
    settings.SESSION_COOKIE_NAME = SECURE
    settings.SESSION_COOKIE_SECURE = True


def test_the_cookie_of_before_the_prefix_is_taken_once_and_sent_anew(ann, secure):
    made = unrecorded(ann)
    key = made.cookies[SECURE].value
    client = Client()
    client.cookies["sessionid"] = key

    answer = client.get("/pulse", secure=True)

    assert answer.status_code == 204
    assert answer.cookies[SECURE].value == key
    assert answer.cookies[SECURE]["secure"]
    assert answer.cookies["sessionid"].value == ""


def with_old_cookie(user: User) -> Client:
    client = Client()
    client.cookies["sessionid"] = unrecorded(user).cookies[SECURE].value
    return client


def test_requests_with_the_old_cookie_at_once_are_all_answered(ann, secure):
    first = with_old_cookie(ann)
    second = Client()
    second.cookies["sessionid"] = first.cookies["sessionid"].value

    assert first.get("/pulse", secure=True).status_code == 204
    assert second.get("/pulse", secure=True).status_code == 204


def test_the_old_cookie_is_refused_a_minute_after_its_session_was_recorded(ann, secure):
    first = with_old_cookie(ann)
    second = Client()
    second.cookies["sessionid"] = first.cookies["sessionid"].value
    first.get("/pulse", secure=True)
    SignIn.objects.update(began_at=timezone.now() - timedelta(seconds=61))

    assert second.get("/pulse", secure=True).status_code == 302


def test_an_answer_without_the_new_cookie_leaves_the_old_one(ann, secure, monkeypatch):
    client = with_old_cookie(ann)

    def away(*_: object, **__: object) -> None:
        raise OperationalError("the connection was refused")

    with monkeypatch.context() as outage:
        outage.setattr("dashboard.sign_in_guard.adopt_session", away)
        answer = client.get("/pulse", secure=True)

    assert answer.status_code == 503
    assert "sessionid" not in answer.cookies
    assert client.get("/pulse", secure=True).status_code == 204


def test_a_recorded_session_is_not_taken_from_a_cookie_without_the_prefix(ann, secure):
    client = Client()
    client.cookies["sessionid"] = signed_in(ann).cookies[SECURE].value

    assert client.get("/pulse", secure=True).status_code == 302


# --- A second factor that a tenant requires --------------------------------------------------

_FREE = {
    "account/second-factor",
    "account/second-factor/begin",
    "account/second-factor/confirm",
    "logout",
    "push-worker.js",
}
_ROUTES = [
    str(one.pattern)
    for one in urls.urlpatterns
    if "<" not in str(one.pattern) and str(one.pattern) not in _FREE
]


@pytest.mark.parametrize("route", [*_ROUTES, "admin/", "admin/auth/user/", "v1/docs/"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_person_who_must_enrol_can_do_nothing_else(ann, alpha, route, method):
    client = signed_in(ann)
    Tenant.objects.update(second_factor_required=True)

    answer = getattr(client, method)(f"/{route}")

    assert (answer.status_code, answer.headers.get("Location")) in [
        (302, "/account/second-factor"),
        (302, "/login?next=/v1/docs/"),
        (401, None),
        (405, None),
    ]


def test_the_page_of_the_enrolment_shows_nothing_of_the_tenant(ann, alpha):
    client = signed_in(ann)
    Tenant.objects.update(second_factor_required=True)

    answer = client.get("/account/second-factor")

    assert answer.status_code == 200
    assert "Alpha" not in answer.text
    assert "Dead letters" not in answer.text


def test_a_requirement_of_a_suspended_tenant_asks_for_nothing(ann, alpha, beta):
    Membership.objects.create(user=ann, tenant=beta, role="viewer")
    Tenant.objects.filter(pk=beta.pk).update(
        second_factor_required=True, suspended_at=timezone.now()
    )

    assert is_signed_in(signed_in(ann))


def test_a_page_costs_one_query_more_for_the_session(ann, django_assert_num_queries):
    client = signed_in(ann)

    # The session, the user, the sign-in and the memberships.
    with django_assert_num_queries(4):
        client.get("/pulse")
