from __future__ import annotations

import pytest

from executions.resealing import open_targets
from executions.resealing.sealing_anew import all_counts
from tenants.models import DataKey, Tenant
from tests.executions.resealing.stored import from_before_data_keys
from tests.factories import make_task
from tests.support.command_calls import call

pytestmark = pytest.mark.django_db


def test_tenants_from_before_data_keys_get_theirs_and_their_values_move(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(open_targets, "_wait", lambda _: None)
    make_task(from_before_data_keys(alpha))
    kept = DataKey.objects.get(tenant=beta).id
    assert "test" in all_counts()

    done = call("keys", "reseal", "--yes")

    assert done.code == 0
    assert "1 tenants got their first data key" in done.err
    made = DataKey.objects.get(tenant=alpha).id
    assert set(all_counts()) == {str(made), str(kept)}
