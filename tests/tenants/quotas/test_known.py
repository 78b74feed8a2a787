from __future__ import annotations

from typing import Any

import pytest

from shared.ids import new_id
from tenants.models import Tenant
from tenants.quotas import known
from tenants.quotas.limits import NONE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(known, "monotonic", lambda: now[0])
    monkeypatch.setattr(known, "_known", {})
    return now


def test_limits_are_read_once_within_seconds(
    alpha: Tenant, seconds: list[float], django_assert_num_queries: Any
):
    with django_assert_num_queries(1):
        known.limits_of(alpha.id)
        known.limits_of(alpha.id)
    Tenant.objects.filter(pk=alpha.id).update(quotas={"stored_tasks": 3})
    assert known.limits_of(alpha.id) == NONE

    seconds[0] += known.KEPT_SECONDS

    assert known.limits_of(alpha.id).stored_tasks == 3


def test_a_noted_tenant_is_not_read(alpha: Tenant, django_assert_num_queries: Any):
    alpha.quotas = {"stored_tasks": 3}

    with django_assert_num_queries(0):
        known.note(alpha)
        assert known.limits_of(alpha.id).stored_tasks == 3


def test_a_forgotten_tenant_is_read_anew(alpha: Tenant):
    known.limits_of(alpha.id)
    Tenant.objects.filter(pk=alpha.id).update(quotas={"stored_tasks": 3})

    known.forget(alpha.id)

    assert known.limits_of(alpha.id).stored_tasks == 3


def test_an_unknown_tenant_has_no_limits():
    assert known.limits_of(new_id()) == NONE


def test_the_notes_of_a_process_are_bounded(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(known, "_MOST", 2)

    for _ in range(5):
        known.limits_of(new_id())

    assert len(known._known) <= 2
