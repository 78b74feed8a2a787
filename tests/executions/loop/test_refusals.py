from __future__ import annotations

import pytest

from executions.loop import refusals
from shared.redis_client import REFUSED_KEY, client
from tests.support.closed_redis import closed_redis
from tests.support.recounting import recounts

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


@recounts("status.refused")
@pytest.mark.logs("writes.refused")
def test_every_kind_is_counted_by_itself():
    refusals.note(refusals.OUTCOMES, 2)
    refusals.note(refusals.OUTCOMES, 1)
    refusals.note(refusals.LEASES, 5)

    assert refusals.read() == {"outcomes": 3, "starts": 0, "leases": 5}


def test_nothing_refused_leaves_no_trace():
    refusals.note(refusals.OUTCOMES, 0)

    assert client().exists(REFUSED_KEY) == 0


@pytest.mark.logs("refusals.not_counted")
def test_while_redis_is_away_nobody_fails_for_the_count(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(refusals, "client", closed_redis)

    refusals.note(refusals.LEASES, 1)
