from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from executions.dispatch.shares import flows
from executions.dispatch.shares.flows import Flow, Flows
from executions.models import Execution
from shared.sql import rows
from tenants.models import Tenant
from tests.factories import make_tenant
from tests.support.backlogs import backlog
from tests.support.dispatching import Time

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, tzinfo=UTC)


def test_a_look_finds_each_tenant_with_its_priorities_and_the_longest_wait(
    alpha: Tenant, beta: Tenant
):
    backlog(alpha, 3, priority=5, age=60)
    backlog(alpha, 2, priority=0, age=10)
    backlog(beta, 1, priority=9, age=5)
    found = Flows("default")

    found.look(0.5)

    assert {one: [head[0] for head in flow.heads] for one, flow in found.known.items()} == {
        alpha.id: [0, 5],
        beta.id: [9],
    }
    assert found.known[alpha.id].wait == pytest.approx(60, abs=1)
    assert found.known[alpha.id].eldest == 5


def test_what_is_due_later_or_elsewhere_or_held_is_not_found(alpha: Tenant, beta: Tenant):
    backlog(alpha, 1, age=-100)
    for change in ({"held": True}, {"parked": True}, {"pool": "gpu"}, {"pool": "pull.gpu"}):
        task = backlog(beta, 1)
        Execution.objects.filter(task_id=task.id).update(**change)
    found = Flows("default")

    found.look(0.5)

    assert found.known == {}


def test_what_is_due_soon_waits_for_nothing_yet(alpha: Tenant):
    backlog(alpha, 1, age=-0.3)
    found = Flows("default")

    found.look(0.5)

    assert found.known[alpha.id].wait is None


def test_looks_go_on_behind_the_last_one_and_forget_the_gone_at_the_end_of_a_round(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(flows, "AT_ONCE", 2)
    tenants = [make_tenant(str(number)) for number in range(3)]
    for tenant in tenants:
        backlog(tenant, 1)
    found = Flows("default")

    found.look(0.5)
    assert len(found.known) == 2
    found.look(0.5)
    assert found.known.keys() == {tenant.id for tenant in tenants}

    Execution.objects.filter(tenant=tenants[0]).delete()
    found.look(0.5)
    found.look(0.5)
    assert found.known.keys() == {tenant.id for tenant in tenants[1:]}


def test_a_look_serves_some_claims_and_some_time(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    clock = Time()
    clock.step = 0.0
    monkeypatch.setattr(flows, "time", clock)
    backlog(alpha, 1)
    found = Flows("default")
    ages = [found.is_old]

    found.look(0.5)
    ages.append(found.is_old)
    for _ in range(4):
        found.claimed(set())
    ages.append(found.is_old)

    found.look(0.5)
    found.claimed({alpha.id})
    ages.append(found.is_old)
    clock.now += 1
    ages.append(found.is_old)

    assert found.known == {}
    assert ages == [True, False, True, False, True]


def test_a_look_that_took_long_serves_longer_so_that_others_get_the_time(
    monkeypatch: pytest.MonkeyPatch,
):
    clock = Time()
    clock.step = 0.5
    monkeypatch.setattr(flows, "time", clock)
    found = Flows("default")
    found.look(0.5)
    clock.step = 0.0

    for _ in range(9):
        found.claimed(set())
    clock.now += 1.9
    ages = [found.is_old]
    clock.now += 0.2
    ages.append(found.is_old)

    assert ages == [False, True]


def test_the_eldest_priority_is_told_only_where_the_order_does_not_begin_with_it():
    flow = Flow()
    found = [flow.eldest]
    flow.add(3, NOW, 1.0)
    found.append(flow.eldest)
    flow.add(7, NOW - timedelta(seconds=9), 9.0)
    found.append(flow.eldest)

    assert found == [None, None, 7]
    assert flow.wait == 9.0


def test_a_tenant_of_which_nothing_could_be_claimed_is_left_out_until_that_changes(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    clock = Time()
    clock.step = 0.0
    monkeypatch.setattr(flows, "time", clock)
    for tenant in (alpha, beta):
        backlog(tenant, 2)
    found = Flows("default")
    found.look(0.5)

    found.claimed({alpha.id, beta.id}, {alpha.id})
    found.look(0.5)
    seen = [set(found.known)]
    Execution.objects.filter(tenant=alpha).earliest("due_at").delete()
    found.look(0.5)
    seen.append(set(found.known))
    found.claimed({alpha.id}, {alpha.id})
    clock.now += 1
    found.look(0.5)
    seen.append(set(found.known))

    assert seen == [{beta.id}, {alpha.id, beta.id}, {alpha.id, beta.id}]


def slow_looks(monkeypatch: pytest.MonkeyPatch) -> Time:
    """Let each look take half a second, and nothing else any time."""
    clock = Time()
    clock.step = 0.5
    monkeypatch.setattr(flows, "time", clock)
    return clock


def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which statements are asked."""
    found: list[str] = []

    def noted(path: str, parameters: dict[str, object]) -> list[tuple[object, ...]]:
        found.append(path)
        return rows(path, parameters)

    monkeypatch.setattr(flows, "rows", noted)
    return found


def test_slow_looks_begin_at_the_work_that_was_seen_and_find_newcomers_beside_it(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    slow_looks(monkeypatch)
    statements = asked(monkeypatch)
    backlog(alpha, 3, priority=5, age=60)
    found = Flows("default")
    found.look(0.5)

    # Beyond the known priority, before it, and of tenants before or behind.
    backlog(alpha, 1, priority=7, age=10)
    backlog(alpha, 1, priority=0, age=10)
    backlog(beta, 1, priority=5, age=10)
    others = [make_tenant(str(number)) for number in range(5)]
    for tenant in others:
        backlog(tenant, 1, age=10)
    backlog(beta, 1, priority=6, age=10)
    found.look(0.5)

    assert statements == ["shares/waiting", "shares/waiting_from"]
    assert {one: [head[0] for head in flow.heads] for one, flow in found.known.items()} == {
        alpha.id: [0, 5, 7],
        beta.id: [5, 6],
        **{tenant.id: [5] for tenant in others},
    }
    assert found.known[alpha.id].wait == pytest.approx(60, abs=2)


def test_slow_looks_see_what_comes_again_of_a_tenant_that_had_nothing_left(
    alpha: Tenant, beta: Tenant, monkeypatch: pytest.MonkeyPatch
):
    slow_looks(monkeypatch)
    statements = asked(monkeypatch)
    for tenant in (alpha, beta):
        backlog(tenant, 1, age=60)
    found = Flows("default")
    found.look(0.5)

    Execution.objects.filter(tenant=beta).delete()
    found.look(0.5)
    seen = [set(found.known)]
    backlog(beta, 1, age=30)
    found.look(0.5)
    seen.append(set(found.known))

    assert seen == [{alpha.id}, {alpha.id, beta.id}]
    assert statements[1:] == ["shares/waiting_from"] * 2


def test_earlier_work_waits_for_a_whole_look(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    clock = slow_looks(monkeypatch)
    backlog(alpha, 1, age=60)
    found = Flows("default")
    found.look(0.5)
    backlog(alpha, 1, age=600)

    found.look(0.5)
    waits = [found.known[alpha.id].wait]
    clock.now += 20 * 0.5
    found.look(0.5)
    waits.append(found.known[alpha.id].wait)

    assert waits == pytest.approx([60, 600], abs=2)


def test_work_that_was_taken_back_is_looked_for_at_once(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
):
    slow_looks(monkeypatch)
    backlog(alpha, 1, age=60)
    found = Flows("default")
    found.look(0.5)
    backlog(alpha, 1, age=600)

    found.forget()
    found.look(0.5)

    assert found.known[alpha.id].wait == pytest.approx(600, abs=2)


def test_quick_looks_are_whole_again(alpha: Tenant, monkeypatch: pytest.MonkeyPatch):
    clock = slow_looks(monkeypatch)
    statements = asked(monkeypatch)
    backlog(alpha, 1, age=60)
    found = Flows("default")
    found.look(0.5)

    clock.step = 0.0
    clock.now += 20 * 0.5
    found.look(0.5)
    found.look(0.5)

    assert statements == ["shares/waiting"] * 3
