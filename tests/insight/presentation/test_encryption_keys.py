from __future__ import annotations

import pytest

from executions.resealing.passes import passes_of_tenant
from insight.presentation.encryption_keys import present_encryption_keys
from tenants.models import Tenant
from tenants.services.data_keys import rotate_data_key
from tests.factories import ACTOR

pytestmark = pytest.mark.django_db


def test_a_rotation_shows_its_keys_and_how_far_it_is_and_no_other_tenants(
    alpha: Tenant, beta: Tenant
):
    rotate_data_key(alpha.id, actor=ACTOR)

    shown = present_encryption_keys(alpha.id)

    states = [(one["generation"], one["status"]) for one in shown["encryption_keys"]]
    assert states == [(2, "SEALS"), (1, "OPENS")]
    resealing = shown["resealing"]
    assert (resealing["status"], resealing["sealed"], resealing["left"]) == ("RUNNING", 0, None)
    assert (resealing["columns_done"], resealing["columns"]) == (0, len(passes_of_tenant()))
    assert present_encryption_keys(beta.id)["resealing"] is None
