from __future__ import annotations

from notifications.built_in_rules import built_in_id
from shared.ids import new_id


def test_each_tenant_and_kind_has_an_id_that_stays():
    alpha, beta = new_id(), new_id()

    assert built_in_id(alpha, "no_worker") == built_in_id(alpha, "no_worker")
    others = {built_in_id(alpha, "late_start"), built_in_id(beta, "no_worker")}
    assert built_in_id(alpha, "no_worker") not in others
