from __future__ import annotations

from uuid import UUID

import pytest

from events.feed import FeedEvent
from executions.loop.clocks import database_now
from notifications.event_webhooks.filters import wanted
from shared.ids import new_id
from tests.factories import daily, make_task, make_tenant

pytestmark = pytest.mark.django_db


def event(task_id: UUID | None) -> FeedEvent:
    return FeedEvent(new_id(), "task.changed", database_now(), new_id(), task_id, None)


def test_a_filter_chooses_by_task_by_label_or_by_both():
    tenant, other = make_tenant("Alpha"), make_tenant("Beta")
    billing = make_task(tenant, daily(labels={"team": "billing", "tier": "1"}))
    plain = make_task(tenant, daily(labels={"team": "ops"}))
    foreign = make_task(other, daily(labels={"team": "billing"}))
    events = [event(billing.id), event(plain.id), event(foreign.id), event(None)]

    def passing(chosen: dict[str, object]) -> list[bool]:
        return wanted(tenant.id, chosen, events)

    assert passing({}) == [True] * 4
    assert passing({"labels": {"team": "billing"}}) == [True, False, False, False]
    assert passing({"labels": {"team": "billing", "tier": "2"}}) == [False] * 4
    assert passing({"task_ids": [str(plain.id)]}) == [False, True, False, False]
    both: dict[str, object] = {"task_ids": [str(plain.id)], "labels": {"team": "billing"}}
    assert passing(both) == [False] * 4
