"""The API page names the tenant's own key by its prefix, and only to those who may see keys."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.views.api_page import samples
from shared import database_clock
from tenants.models import ApiKey, Tenant
from tests.support.api import make_key

PATH = "/api"


def test_an_admin_sees_the_first_call_with_the_key_that_was_used_last(browser, alpha, beta):
    key, text = make_key(alpha, ["read"])
    other, foreign = make_key(beta, ["read"])

    shown = browser(alpha, role="admin").get(PATH).text

    assert f"export PUNCTUAL_KEY={key.prefix}…" in shown.replace("&#x27;", "").replace("'", "")
    assert "Bearer $PUNCTUAL_KEY" in shown
    assert text not in shown
    assert foreign not in shown
    assert other.prefix not in shown


@pytest.mark.parametrize(
    "gone",
    [
        {"revoked_at": database_clock.now},
        {"expires_at": lambda: database_clock.now() - timedelta(seconds=1)},
    ],
)
def test_a_key_that_no_call_may_use_is_not_named(browser, alpha, gone):
    make_key(alpha, ["read"])
    ApiKey.objects.update(**{name: moment() for name, moment in gone.items()})

    shown = browser(alpha, role="admin").get(PATH).text

    assert ApiKey.objects.get().prefix not in shown
    assert "/settings/api-keys/new" in shown


def test_a_viewer_sees_no_key_and_who_makes_one(browser, alpha):
    make_key(alpha, ["read"])

    shown = browser(alpha, role="viewer").get(PATH).text

    assert ApiKey.objects.get().prefix not in shown
    assert "Admins of Alpha make them" in shown


def test_the_rate_is_that_of_the_tenant(browser, alpha):
    Tenant.objects.filter(pk=alpha.pk).update(unlimited=True)

    shown = browser(alpha, role="viewer").get(PATH).text

    assert "<dt>Rate</dt><dd>No limit.</dd>" in shown


def test_the_receivers_are_those_of_the_documentation():
    assert [sample.language for sample in samples()] == [
        "Python",
        "JavaScript",
        "Java",
        "Ruby",
        "PHP",
    ]
    assert all("WEBHOOK_SECRET" in sample.text for sample in samples())
