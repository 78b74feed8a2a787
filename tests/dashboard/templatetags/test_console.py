"""The console's clock, durations and form parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.template import Context, RequestContext, Template
from django.test import RequestFactory
from django.utils import timezone

from dashboard.templatetags import console
from tenants.choices import Role
from tenants.models import Membership, Tenant

MOMENT = datetime(2026, 3, 29, 1, 30, 5, 678000, tzinfo=UTC)


def test_a_moment_is_shown_in_the_zone_in_force():
    with timezone.override(ZoneInfo("Europe/Berlin")):
        shown = console.clock(MOMENT, "ms")

    assert "2026-03-29 03:30:05.678" in shown
    assert 'datetime="2026-03-29T01:30:05.678Z"' in shown
    assert "CEST" in shown


def test_the_wire_form_of_a_moment_is_shown_alike():
    assert console.clock("2026-03-29T01:30:05.678Z") == console.clock(MOMENT)


@pytest.mark.parametrize("tag", [console.clock, console.ago])
def test_a_missing_moment_is_a_dash(tag):
    assert tag(None) == '<span class="none">–</span>'


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "now"),
        (-0.9, "now"),
        (61, "in 1 m 1 s"),
        (-7200, "2 h ago"),
        (90000, "in 1 d 1 h"),
        (729 * 86_400, "in 729 d"),
        (730 * 86_400, "in 2 years"),
        (-1_099.9 * 86_400, "3 years ago"),
        (1_277.5 * 86_400, "in 3.5 years"),
    ],
)
def test_a_distance_is_said_in_words(seconds, text):
    assert console.distance(seconds) == text


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        ("http_status:503", "HTTP 503"),
        ("http_status", "Http status"),
        ("timeout_total", "Timeout total"),
        ("handler_failed:ValueError", "Handler failed: ValueError"),
        ("", ""),
    ],
)
def test_a_cause_is_said_in_words(signature, text):
    assert console.cause(signature) == text


def test_an_age_says_where_the_script_goes_on():
    assert "data-ago" in console.ago(timezone.now() - timedelta(hours=2))


def test_each_form_gets_a_key_of_its_own_and_says_whose_it_is():
    visitor = SimpleNamespace(tenant=SimpleNamespace(pk="t1"))

    assert console.form_key({}) != console.form_key({})
    assert 'name="form_tenant" value="t1"' in console.form_key({"visitor": visitor})


def test_the_query_is_changed_and_the_rest_of_it_stays():
    request = RequestFactory().get("/?status=FAILED&q=a%26b&cursor=x")
    context = RequestContext(request, {"request": request})

    changed = console.query_with(context, status="RUNNING", cursor="")

    assert changed == "?q=a%26b&status=RUNNING"
    assert console.query_with(context, status="", q="", cursor="") == "?"


def test_an_actor_is_named_to_the_members_of_its_tenant_and_to_nobody_else(
    alpha: Tenant, beta: Tenant
):
    user = User.objects.create_user("grace")
    Membership.objects.create(user=user, tenant=alpha, role=Role.VIEWER)

    def told(tenant: Tenant, actor: str | None) -> str:
        template = Template("{% load console %}{% who actor %}{% who actor %}")
        visitor = SimpleNamespace(tenant=tenant)
        return template.render(Context({"visitor": visitor, "actor": actor}))

    actor = f"user:{user.pk}"
    assert told(alpha, actor) == "gracegrace"
    assert told(beta, actor) == actor * 2
    assert told(alpha, "user:x") == "user:x" * 2
    assert told(alpha, "api_key:ab12") == "api_key:ab12" * 2
    assert told(alpha, None) == "––"


@pytest.mark.parametrize(
    ("value", "text"), [(2.5, "2.5"), (100.0, "100"), (0.001, "0.001"), (100_000.0, "100000")]
)
def test_a_number_has_no_zeros_behind_its_last_digit(value, text):
    assert console.figure(value) == text


def test_pages_round_halves_as_commands_do():
    assert [console.whole(value) for value in (12.5, 13.5, 14.6)] == ["12", "14", "15"]


def test_an_icon_is_decoration_unless_it_is_named():
    assert 'aria-hidden="true"' in console.icon("retry")
    assert 'aria-label="a &amp; b"' in console.icon("retry", "a & b")
