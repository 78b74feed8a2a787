from __future__ import annotations

import pytest

from executions.loop.clocks import database_now
from tasks.models import ZoneRules
from tasks.schedules.zones import release
from tenants.models import Tenant
from tests.factories import daily, make_task
from tests.support.command_calls import call
from tests.support.command_documents import read_document
from tests.support.old_zones import OLD, pretend_shifted, record_today
from tests.support.recounting import recounts

pytestmark = pytest.mark.django_db

TOKYO = {"cron_expression": "0 8 * * *", "timezone": "Asia/Tokyo"}


def moved(tenant: Tenant) -> None:
    make_task(tenant, daily(name="Tea", schedule=TOKYO))
    record_today(database_now())
    pretend_shifted("Asia/Tokyo", database_now(), 1)


def test_before_the_first_check_the_installed_release_is_told(alpha):
    make_task(alpha, daily())

    document = read_document("schedule-zones", call("schedule", "zones", "--json").out)

    assert document["installed_release"] == release()
    assert document["recorded_release"] is None
    assert document["zones"] == [{"timezone": "Europe/Berlin", "tasks": 1}]
    assert (document["zone_moves"], document["checked"]) == ([], None)


@recounts("zones.tasks")
def test_a_check_moves_tasks_and_says_which(alpha):
    moved(alpha)

    said = call("schedule", "zones", "--check")
    again = read_document("schedule-zones", call("schedule", "zones", "--check", "--json").out)

    assert said.code == 0
    assert "zones with other rules: Asia/Tokyo" in said.out
    assert "tasks that move: 1, recomputed: 1, unreadable: 0" in said.out
    assert "Tea" in said.out
    assert f"{OLD} to {release()}" in said.out
    [move] = again["zone_moves"]
    assert (move["task_name"], move["tenant_id"]) == ("Tea", str(alpha.id))
    assert again["checked"] == {
        "zones_changed": [],
        "tasks_moved": 0,
        "tasks_recomputed": 0,
        "tasks_unreadable": 0,
    }


def test_moves_are_those_of_one_tenant_when_asked(alpha, beta):
    moved(alpha)
    call("schedule", "zones", "--check")

    of_beta = read_document(
        "schedule-zones", call("schedule", "zones", "--tenant", "Beta", "--json").out
    )

    assert of_beta["zone_moves"] == []
    assert call("schedule", "zones", "--tenant", "Gamma").code == 3


def test_another_release_than_the_installed_one_gets_a_hint(alpha):
    record_today(database_now())
    pretend_shifted("Asia/Tokyo", database_now(), 1)
    assert "--check" not in call("schedule", "zones").err

    ZoneRules.objects.update(release="2999.1")

    said = call("schedule", "zones")
    assert "followed: 2999.1" in said.out
    assert "schedule zones --check" in said.err
