"""Facts about the installation: what is there, and nothing that is not on the list."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.conf import settings
from django.db import connection

from executions.external.pull_leases import Ask, noticed
from executions.ledger import days as ledger
from executions.loop.clocks import database_now
from executions.ownership.partitions import Partitions
from insight import installation
from shared.conf import conf
from shared.sql import rows
from tests.factories import daily, make_task, make_tenant
from tests.support.beats import beat
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db


def test_versions_are_those_of_this_process():
    found = installation.versions()

    assert found["punctual"] == settings.SPECTACULAR_SETTINGS["VERSION"]
    assert "missing" not in found.values()


def test_a_table_has_the_size_and_the_days_of_its_parts():
    ledger.ensure_days_ahead(database_now())
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid FROM pg_inherits WHERE inhparent = 'events'::regclass")
        days = [day for (day,) in cursor.fetchall()]
        cursor.execute("SELECT sum(pg_total_relation_size(d)) FROM unnest(%s::oid[]) AS d", [days])
        [(size,)] = cursor.fetchall()

    found = {one.name: one for one in installation.tables()}

    assert (found["events"].days, found["events"].bytes) == (len(days), size)
    assert found["tenants"].days == 0
    assert not any(name.startswith("events_2") for name in found)
    sizes = [one.bytes for one in found.values()]
    assert sizes == sorted(sizes, reverse=True)


def test_the_history_reaches_from_the_first_day_to_the_last():
    now = database_now()
    ledger.ensure_days_ahead(now)

    found = installation.history()

    last = now + conf().partition_days_ahead * ledger.DAY
    assert found.first_day is not None
    assert found.first_day < f"{now:%Y-%m-%d}"
    assert (found.last_day, found.retention_days) == (f"{last:%Y-%m-%d}", conf().retention_days)


def test_the_bundle_has_processes_by_their_names_without_hosts():
    Partitions().run_once()
    beat("worker-1")

    found = installation.describe()

    [worker] = found["workers"]
    assert (worker["name"], worker["state"]) == ("worker-1", "live")
    assert found["partitions"]["owned"] == found["partitions"]["total"] == 256
    assert found["schedulers"][0]["live"]
    assert found["redis"]["version"]
    assert int(found["database"]["server_version_num"]) >= 180000


def test_sessions_of_other_roles_are_counted_by_a_role_that_may_not_look_into_them():
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE looker")
        cursor.execute("SET LOCAL ROLE looker")
        try:
            [(used,)] = rows("doctor/connections")
        finally:
            cursor.execute("SET LOCAL ROLE none")

    # At least the session of this test, which belongs to another role.
    assert used >= 1


def test_a_redis_that_is_away_leaves_the_rest(monkeypatch):
    for module in ("insight.installation", "insight.statistics.fleet", "wire.heartbeats"):
        monkeypatch.setattr(f"{module}.client", closed_redis)
    monkeypatch.setattr("shared.clock_watch.client", closed_redis)

    found = installation.describe()

    gone = ("redis", "workers", "recorders", "clocks")
    assert [found[name] for name in gone] == [None] * 4
    assert found["tables"]


def test_settings_are_numbers_and_switches_alone(monkeypatch):
    secret = replace(conf(), metrics_token="canary-token", public_url="https://canary.example")
    monkeypatch.setattr(settings, "PUNCTUAL", secret)

    found = installation.describe()["settings"]

    assert found["retention_days"] == conf().retention_days
    assert {type(value) for value in found.values()} <= {int, float, bool}
    assert "canary" not in str(found)


def test_nothing_of_a_tenant_is_in_the_bundle():
    tenant = make_tenant("canary-tenant")
    make_task(tenant, daily(name="canary-task"))
    noticed(tenant.id, Ask("canary-pool", "canary-worker"), "192.0.2.1")

    found = str(installation.describe())

    assert "canary" not in found
    assert str(tenant.id) not in found
