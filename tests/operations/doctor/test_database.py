from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from executions.loop.clocks import database_now
from operations.doctor import Verdict, database
from shared.data_keys import forget_all
from shared.sql import rows
from tenants.models import DataKey
from tests.executions.old_days import A_DAY, ago, make_days, put
from tests.factories import make_task, make_tenant
from tests.support.loops import LOOPS_ROLE, loops_url
from tests.support.old_zones import pretend, record_today
from tests.support.walls import WEB_ROLE, web_url

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


def test_days_that_stay_past_the_retention_are_odd_unless_open_work_keeps_them(settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, retention_days=10)
    tenant = make_tenant()
    make_days(11)
    good = database.old_days()
    put(tenant, 20)
    late = database.old_days()
    put(tenant, 19, status="PENDING")
    later = database.old_days()
    put(tenant, 21, status="PENDING")
    kept = database.old_days()

    assert (good.verdict, late.verdict, later.verdict) == (
        Verdict.OK,
        Verdict.WARNING,
        Verdict.WARNING,
    )
    assert late.evidence == f"{A_DAY} tables past the retention, from {ago(20):%Y-%m-%d} on"
    assert "day.not_dropped" in late.remedy
    assert kept.verdict is Verdict.OK
    assert kept.evidence.endswith(" is open")


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
    # As another process, which has not unwrapped the data key.
    forget_all()
    foreign = database.sealed_values()

    assert empty.verdict is Verdict.OK
    key = DataKey.objects.get()
    assert fits.evidence == f"the newest opens with {key.id}"
    assert foreign.verdict is Verdict.FAILED


def test_tenants_whose_urls_lie_in_clear_are_pointed_out():
    make_tenant()
    sealed = database.sealed_targets()
    DataKey.objects.update(seals_targets=False)
    clear = database.sealed_targets()

    assert sealed.verdict is Verdict.OK
    assert clear.verdict is Verdict.WARNING
    assert clear.evidence == "tenants whose URLs and arguments lie in clear: 1"


def test_tasks_computed_with_another_zone_database_are_pointed_out():
    assert "recorded at the first check" in database.zone_rules().evidence

    record_today(database_now())
    assert database.zone_rules().verdict is Verdict.OK

    pretend("Europe/Berlin", [(0, 3600)], release="2999.1")
    found = database.zone_rules()
    assert found.verdict is Verdict.WARNING
    assert "tzdata 2999.1" in found.evidence
    assert "schedule zones --check" in found.remedy


def test_a_database_that_keeps_tenants_apart_is_good(settings):
    settings.WEB_DATABASE_URL = web_url()

    found = database.row_security()

    assert found.verdict is Verdict.OK
    assert found.evidence.startswith(f"{WEB_ROLE}, ")


def test_a_table_of_tenants_without_row_security_is_broken(settings):
    settings.WEB_DATABASE_URL = web_url()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE tasks DISABLE ROW LEVEL SECURITY")

    found = database.row_security()

    assert (found.verdict, found.remedy) == (Verdict.FAILED, "Run `manage.py roles make`.")
    assert found.evidence == "without row security: tasks"


def test_a_web_process_with_the_owners_role_is_worth_a_look(settings):
    settings.WEB_DATABASE_URL = ""

    found = database.row_security()

    assert found.verdict is Verdict.WARNING
    assert "code alone keeps tenants apart" in found.evidence


def test_loops_with_a_role_of_their_own_are_good(settings):
    settings.LOOPS_DATABASE_URL = loops_url()

    found = database.role_of_loops()

    assert (found.verdict, found.evidence) == (Verdict.OK, LOOPS_ROLE)


def test_loops_that_may_change_the_audit_are_broken(settings):
    settings.LOOPS_DATABASE_URL = loops_url()
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT UPDATE ON audit_entries TO {LOOPS_ROLE}")

    found = database.role_of_loops()

    assert (found.verdict, found.remedy) == (Verdict.FAILED, "Run `manage.py roles make`.")
    assert found.evidence == "more rights than the loops need: UPDATE on audit_entries"


def test_loops_with_the_owners_role_are_worth_a_look(settings):
    settings.LOOPS_DATABASE_URL = ""

    found = database.role_of_loops()

    assert found.verdict is Verdict.WARNING
    assert "LOOPS_DATABASE_URL" in found.remedy
