"""A break: only in a demo, one at a time, recorded, and asked for where it can be made."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from events.models import AuditEntry
from executions.demo import breaks
from executions.demo.breaks import Kind, NoDemo
from executions.triggering.receiver_requests import segment
from shared.exceptions import Conflict, NotFound, Unavailable
from tasks.models import Task
from tests.factories import ACTOR, make_tenant
from tests.support.receiving import deliver, receiving

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("kind", "fault", "strike"),
    [
        (Kind.RECEIVER_FAILS, "fail", None),
        (Kind.RECEIVER_SLOW, "slow", None),
        (Kind.WORKER, "none", "/strikes?kind=worker&after=6"),
        (Kind.SCHEDULER, "none", "/strikes?kind=scheduler&after=6"),
    ],
)
def test_each_kind_asks_for_its_fault_and_is_counted_by_the_receiver(demo, kind, fault, strike):
    tenant, up = demo

    breaks.begin(tenant.id, kind, actor=ACTOR)

    trial = f"/trials/{segment(tenant.id)}?fault={fault}&after=6&seconds=20"
    assert up.asked == [trial, *([strike] if strike else [])]


def test_a_break_is_in_the_audit_log_and_read_from_there(demo):
    tenant, _ = demo
    assert breaks.last_of(tenant.id) is None

    breaks.begin(tenant.id, Kind.WORKER, actor=ACTOR)

    entry = AuditEntry.objects.get(action=breaks.BROKEN)
    found = breaks.last_of(tenant.id)
    assert (entry.actor, json.loads(entry.after or "")["kind"]) == (ACTOR.name, "worker")
    assert found is not None
    assert (found.id, found.kind, found.expected) == (entry.id, Kind.WORKER, 8 * 45)
    assert found.at < found.first < found.strikes_at < found.last < found.gives_up_at
    assert found.strikes_at - found.at < timedelta(seconds=7)


def test_one_break_at_a_time(demo):
    tenant, up = demo
    breaks.begin(tenant.id, Kind.WORKER, actor=ACTOR)
    asked = list(up.asked)

    with pytest.raises(Conflict, match="worker is under way until"):
        breaks.begin(tenant.id, Kind.SCHEDULER, actor=ACTOR)

    assert up.asked == asked


@pytest.mark.parametrize("error", [Conflict("no worker is alive"), Unavailable("away")])
def test_what_cannot_be_broken_leaves_no_trace(demo, error):
    tenant, up = demo
    up.error = error

    with pytest.raises(type(error)):
        breaks.begin(tenant.id, Kind.WORKER, actor=ACTOR)

    assert breaks.last_of(tenant.id) is None
    assert not Task.objects.filter(tenant_id=tenant.id).exists()


def test_without_the_demo_nothing_breaks(demo, settings):
    tenant, up = demo
    settings.DEMO = False

    with pytest.raises(NoDemo, match="DEMO=true"):
        breaks.begin(tenant.id, Kind.WORKER, actor=ACTOR)

    assert up.asked == []


def test_another_tenant_than_the_demos_does_not_break(demo):
    _, up = demo

    with pytest.raises(NotFound, match="demo tenant"):
        breaks.begin(make_tenant("Acme").id, Kind.WORKER, actor=ACTOR)

    assert up.asked == []


def test_the_receivers_own_count_is_read(settings, tmp_path, monkeypatch):
    settings.DEMO = True
    tenant = make_tenant("demo").id
    with receiving(settings, tmp_path) as url:
        breaks._order(tenant, Kind.RECEIVER_SLOW)
        address = f"{url}{segment(tenant)}/ok"
        deliver(address, webhook_id="a", x_scheduler_attempt="1")
        found = breaks.trial(tenant)

    assert found is not None
    assert (found["fault"], found["acts"]) == ("slow", False)
    assert found["attempts"] == [["a", "1", 1, 1]]


def test_an_up_that_does_not_answer_is_away(settings, tmp_path):
    settings.DEMO = True
    settings.SUPERVISOR_SOCKET = str(tmp_path / "none.sock")
    settings.RECEIVER_SOCKET = str(tmp_path / "none-either.sock")
    tenant = make_tenant("demo").id

    assert breaks.strike() is None
    assert breaks.trial(tenant) is None
    with pytest.raises(Unavailable, match="receiver of `up` does not answer"):
        breaks._order(tenant, Kind.WORKER)


def test_a_receiver_without_the_demo_refuses(settings, tmp_path):
    with receiving(settings, tmp_path), pytest.raises(Unavailable, match="HTTP 404"):
        breaks._order(make_tenant("demo").id, Kind.WORKER)


def test_a_supervisor_that_has_nothing_to_kill_is_a_conflict():
    with pytest.raises(Conflict, match="no worker is alive"):
        breaks._read("supervisor", 409, b'{"error": "no worker is alive"}')
