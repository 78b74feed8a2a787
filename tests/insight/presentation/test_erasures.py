from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from executions.erasure.requests import BY_HAND
from executions.models import Erasure
from insight.presentation.erasures import present_erasure

AT = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(("ended", "status"), [(None, "RUNNING"), (AT, "COMPLETED")])
def test_a_certificate_says_whether_it_is_complete(ended: datetime | None, status: str):
    made = Erasure(tenant_id=UUID(int=1), object_id=UUID(int=2), begun_at=AT, ended_at=ended)

    assert present_erasure(made)["status"] == status


@pytest.mark.parametrize(("kind", "more"), [("task", []), ("tenant", ["accounts"])])
def test_a_certificate_names_what_is_left_to_do_by_hand(kind: str, more: list[str]):
    ids = {"tenant_id": UUID(int=1), "object_id": UUID(int=2)}
    made = Erasure(object_kind=kind, begun_at=AT, **ids)

    assert present_erasure(made)["by_hand"] == [*BY_HAND, *more]
