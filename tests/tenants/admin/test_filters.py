from __future__ import annotations

import pytest

from tenants.models import ApiKey
from tests.factories import make_key
from tests.support.admin import AdminBrowser, make_admin

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db: None) -> AdminBrowser:
    return make_admin()


def test_a_list_shows_one_tenants_rows(browser, alpha, beta):
    of_alpha, _ = make_key(alpha)
    make_key(beta)

    answer = browser.list(ApiKey, tenant=str(alpha.pk))

    assert answer.context["cl"].result_list == [of_alpha]
    assert b"Beta" in answer.content


def test_a_made_up_tenant_goes_back_to_the_list(browser, alpha):
    assert browser.list(ApiKey, tenant="nobody").status_code == 302
