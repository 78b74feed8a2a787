"""The page of a tenant's data keys, and the button that rotates them."""

from __future__ import annotations

import pytest

from executions.resealing.passes import rotate, run_some
from tenants.models import DataKey, Resealing
from tests.factories import ACTOR, make_task

PAGE = "/settings/encryption-keys"


def test_an_owner_rotates_the_key_and_sees_how_far_it_is(browser, alpha):
    make_task(alpha)
    client = browser(alpha, role="owner")
    assert "Rotate the key" in client.get(PAGE).text

    answer = client.post(f"{PAGE}/rotate")

    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    text = client.get(PAGE).text
    assert "Sealing anew" in text
    assert "disabled" in text
    while run_some(Resealing.objects.get().id):
        pass
    text = client.get(PAGE).text
    assert "Sealed anew" in text
    for key in DataKey.objects.filter(tenant=alpha):
        assert str(key.id) in text


def test_an_admin_sees_the_keys_and_does_not_rotate(browser, alpha, beta):
    client = browser(alpha, role="admin")
    text = client.get(PAGE).text

    assert str(DataKey.objects.get(tenant=alpha).id) in text
    assert str(DataKey.objects.get(tenant=beta).id) not in text
    assert "Rotate the key" not in text
    assert client.post(f"{PAGE}/rotate").status_code == 403
    assert DataKey.objects.filter(tenant=alpha).count() == 1


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_others_see_no_keys(browser, alpha, role):
    client = browser(alpha, role=role)

    assert client.get(PAGE).status_code == 403
    assert client.post(f"{PAGE}/rotate").status_code == 403


def test_a_tenant_without_a_key_is_told_so(browser, alpha):
    client = browser(alpha, role="owner")
    DataKey.objects.all().delete()

    assert "No key of its own yet" in client.get(PAGE).text


def test_a_rotation_that_is_under_way_is_a_conflict(browser, alpha):
    rotate(alpha.id, actor=ACTOR)

    answer = browser(alpha, role="owner").post(f"{PAGE}/rotate")

    assert answer.status_code in (302, 409)
    assert DataKey.objects.filter(tenant=alpha).count() == 2
