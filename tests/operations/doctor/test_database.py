from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from executions.loop.clocks import database_now
from operations.doctor import Verdict, database
from shared.sql import rows
from tests.factories import make_task, make_tenant
from tests.support.old_zones import pretend, record_today

pytestmark = pytest.mark.django_db


def _with(monkeypatch, **settings: str) -> None:
    found = {**database._settings(), **settings}
    monkeypatch.setattr(database, "_settings", lambda: found)


def test_the_version_is_told_and_an_old_one_refused(monkeypatch):
    found = database.server_version()
    _with(monkeypatch, server_version_num="170004")

    assert found.verdict is Verdict.OK
    assert found.evidence.startswith("PostgreSQL 18")
    assert database.server_version().verdict is Verdict.FAILED


def test_a_server_that_may_lose_commits_is_broken(monkeypatch):
    # The servers of tests run without durability.
    found = database.durability()
    _with(monkeypatch, fsync="on", synchronous_commit="on", full_page_writes="on")

    assert found.verdict is Verdict.FAILED
    assert "fsync off" in found.evidence
    assert "fsync and synchronous_commit and full_page_writes" in found.remedy
    assert database.durability().verdict is Verdict.OK


def test_a_limit_of_connections_that_is_near_is_odd(monkeypatch):
    assert database.connections().verdict is Verdict.OK

    _with(monkeypatch, max_connections="4")
    assert database.connections().verdict is Verdict.WARNING


def test_migrations_that_are_missing_are_named(monkeypatch):
    assert database.migrations().verdict is Verdict.OK

    step = type("Step", (), {"app_label": "tasks", "name": "0009_next"})
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda self, targets: [(step, False)])
    assert database.migrations().evidence == "1 not applied: tasks.0009_next"


def test_a_day_without_its_table_is_broken_and_a_later_one_odd(monkeypatch, settings):
    now = database_now()
    good = database.day_tables()
    settings.PUNCTUAL = replace(settings.PUNCTUAL, partition_days_ahead=9)
    later = database.day_tables()
    monkeypatch.setattr(database, "database_now", lambda: now + timedelta(days=60))
    soon = database.day_tables()

    assert good.verdict is Verdict.OK
    assert later.verdict is Verdict.WARNING
    assert soon.verdict is Verdict.FAILED
    assert f"executions_{now + timedelta(days=60):%Y%m%d}" in soon.evidence


def test_a_transaction_that_stays_open_is_found_with_its_session(monkeypatch):
    parameters = connection.get_connection_params()
    known = {key: parameters[key] for key in ("dbname", "user", "password", "host")}
    with psycopg.connect(**known, application_name="forgotten") as other:
        other.execute("SELECT 1")
        found = rows("doctor/oldest_transaction")

    assert found[0][2:] == ("forgotten", "idle in transaction")


@pytest.mark.parametrize(
    ("seconds", "verdict"), [(1.0, Verdict.OK), (90.0, Verdict.WARNING), (900.0, Verdict.FAILED)]
)
def test_an_old_transaction_is_judged_by_its_age(monkeypatch, seconds, verdict):
    monkeypatch.setattr(database, "rows", lambda path: [(seconds, 42, "forgotten", "idle")])

    assert database.open_transactions().verdict is verdict


def test_stored_values_must_open_with_the_keys_there_are(settings):
    empty = database.sealed_values()
    make_task(make_tenant())
    fits = database.sealed_values()
    settings.PUNCTUAL = replace(settings.PUNCTUAL, encryption_keys={"other": b"o" * 32})
    foreign = database.sealed_values()

    assert empty.verdict is Verdict.OK
    assert fits.evidence == "the newest opens with test"
    assert foreign.verdict is Verdict.FAILED


def test_tasks_computed_with_another_zone_database_are_pointed_out():
    assert "recorded at the first check" in database.zone_rules().evidence

    record_today(database_now())
    assert database.zone_rules().verdict is Verdict.OK

    pretend("Europe/Berlin", [(0, 3600)], release="2999.1")
    found = database.zone_rules()
    assert found.verdict is Verdict.WARNING
    assert "tzdata 2999.1" in found.evidence
    assert "schedule zones --check" in found.remedy
