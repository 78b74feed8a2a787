from __future__ import annotations

import pytest

from operations.key_list import keys
from tenants.models import DataKey, Tenant
from tests.factories import make_task
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db


@recounts("keys.uses")
def test_data_keys_are_listed_with_their_values_and_what_wraps_them(alpha: Tenant, beta: Tenant):
    make_task(alpha)

    found = keys(None)

    assert [(key["tenant"], key["status"], key["wrapped_by"]) for key in found["data_keys"]] == [
        ("Alpha", "SEALS", "test"),
        ("Beta", "SEALS", "test"),
    ]
    # A version and a signing secret, and a signing secret.
    assert [key["values"] for key in found["data_keys"]] == [2, 1]
    [master] = found["keys"]
    assert (master["id"], master["active"], master["values"], master["data_keys"]) == (
        "test",
        True,
        0,
        2,
    )
    assert [key["tenant"] for key in keys(beta)["data_keys"]] == ["Beta"]


def test_a_data_key_that_is_gone_is_listed_as_missing_while_values_have_it(alpha: Tenant):
    key_id = DataKey.objects.get(tenant=alpha).id
    DataKey.objects.filter(pk=key_id).delete()

    missing = [one for one in keys(None)["keys"] if not one["configured"]]

    assert [(one["id"], one["values"]) for one in missing] == [(str(key_id), 1)]
