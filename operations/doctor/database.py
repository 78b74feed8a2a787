"""Checks of PostgreSQL: version, durability, limits, schema, day tables, sealed values."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Exists, OuterRef

from executions.ledger.days import (
    DAILY_TABLES,
    LEAVING,
    day_end_id,
    day_of,
    oldest_open,
    parent_of,
)
from executions.loop.clocks import database_now
from operations.database_roles.loops import read_loops_state
from operations.database_roles.state import read_state
from operations.doctor.finding import Finding, bad, good, odd
from shared.commands import shown
from shared.conf import conf
from shared.encryption import DecryptionFailed, key_id_of, open_json
from shared.sealing_contexts import revision_context
from shared.sql import rows
from tasks.models import TaskRevision
from tasks.schedules.zones import release
from tasks.zone_changes import recorded_release
from tenants.models import DataKey, Tenant

#: The first version that makes time-ordered ids itself.
LOWEST_VERSION = 180000
_DURABLE = ("fsync", "synchronous_commit", "full_page_writes")
_DAYS_NEEDED = 1
#: Days that may stay past the retention before that is odd: it drops them within minutes.
_DAYS_LATE = 2


def server_version() -> Finding:
    """Check that Punctual supports the version of the server."""
    found = _settings()
    evidence = f"PostgreSQL {found['server_version']}"
    if int(found["server_version_num"]) < LOWEST_VERSION:
        return bad("database", evidence, "Use PostgreSQL 18 or later.")
    return good("database", evidence)


def durability() -> Finding:
    """Check that tasks answered with 201 survive a crash."""
    found = _settings()
    evidence = ", ".join(f"{name} {found[name]}" for name in _DURABLE)
    off = [name for name in _DURABLE if found[name] == "off"]
    if off:
        return bad(
            "durability",
            evidence,
            f"Turn {' and '.join(off)} on in postgresql.conf: a crash would lose tasks.",
        )
    return good("durability", evidence)


def connections() -> Finding:
    """Check that the server's limit of connections is not near."""
    found = _settings()
    limit = int(found["max_connections"]) - int(found["superuser_reserved_connections"])
    used = int(rows("doctor/connections")[0][0])
    evidence = f"{used} of {limit} in use"
    if used * 10 > limit * 8:
        return odd("connections", evidence, "Raise max_connections, or run fewer processes.")
    return good("connections", evidence)


def migrations() -> Finding:
    """Check that the database has every migration of this version."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        names = ", ".join(f"{step.app_label}.{step.name}" for step, _ in plan[:3])
        evidence = f"{len(plan)} not applied: {names}"
        return bad("migrations", evidence, "Run `manage.py migrate`.")
    return good("migrations", "all applied")


def row_security() -> Finding:
    """Check that the database itself keeps tenants apart: the second wall."""
    found = read_state(settings.WEB_DATABASE_URL)
    if not found.role:
        return odd(
            "row security",
            "the web process uses the owner's role, so that code alone keeps tenants apart",
            "Set WEB_DATABASE_URL and run `manage.py roles make`: see "
            "docs/howto/protect-the-database.md.",
        )
    if found.problems:
        return bad("row security", "; ".join(found.problems), "Run `manage.py roles make`.")
    return good("row security", f"{found.role}, {found.secured} tables of tenants")


def role_of_loops() -> Finding:
    """Check that the processes that work for all tenants own nothing in the database."""
    found = read_loops_state(settings.LOOPS_DATABASE_URL)
    if not found.role:
        return odd(
            "role of the loops",
            "schedulers, recorders and system workers use the owner's role",
            "Set LOOPS_DATABASE_URL and run `manage.py roles make`: see "
            "docs/howto/protect-the-database.md.",
        )
    if found.problems:
        return bad("role of the loops", "; ".join(found.problems), "Run `manage.py roles make`.")
    return good("role of the loops", found.role)


def day_tables() -> Finding:
    """Check that the tables of today and the coming days exist: rows cannot be stored without."""
    now = database_now()
    wanted = [now + timedelta(days=days) for days in range(conf().partition_days_ahead + 1)]
    missing = {
        parent: [
            day for day in wanted if f"{parent}_{day:%Y%m%d}" not in _tables(parent_of(parent))
        ]
        for parent in DAILY_TABLES
    }
    soon = wanted[: _DAYS_NEEDED + 1]
    lacking = [f"{name}_{day:%Y%m%d}" for name, days in missing.items() for day in days]
    remedy = "A running scheduler makes them; see that one runs."
    if any(day in days for day in soon for days in missing.values()):
        return bad("day tables", f"missing: {', '.join(lacking)}", remedy)
    if lacking:
        return odd("day tables", f"missing: {', '.join(lacking)}", remedy)
    return good("day tables", f"up to {wanted[-1]:%Y-%m-%d}")


def old_days() -> Finding:
    """Check that days past the retention leave: nothing else frees the room that they take."""
    before = database_now() - timedelta(days=conf().retention_days + _DAYS_LATE)
    parents = [parent_of(table) for table in DAILY_TABLES]
    wanted = {"parents": parents, "before": f"{before:%Y%m%d}", "mark": LEAVING}
    tables = rows("retention/days_before", wanted)
    found = sorted(table.rpartition("_")[2] for _, table, _ in tables)
    if not found:
        return good("old days", f"none is past the retention of {conf().retention_days} days")
    evidence = f"{len(found)} tables past the retention, from {day_of(found[0]):%Y-%m-%d} on"
    oldest = oldest_open()
    if oldest is not None and oldest < day_end_id(found[0]):
        return good("old days", f"{evidence}; execution {oldest} is open")
    remedy = "The system worker's log says why they stay: `day.kept`, `day.not_dropped`."
    return odd("old days", evidence, remedy)


def zone_rules() -> Finding:
    """Check that the tasks are computed with the zone database that is installed here."""
    installed, recorded = release(), recorded_release()
    if not recorded:
        return good("zone rules", f"tzdata {installed}; recorded at the first check")
    evidence = f"tasks are computed with tzdata {recorded}, installed is {installed}"
    if installed != recorded:
        remedy = "Upgrade every machine; then `manage.py schedule zones --check` moves the tasks."
        return odd("zone rules", evidence, remedy)
    return good("zone rules", f"tasks are computed with tzdata {recorded}, as installed")


def open_transactions() -> Finding:
    """Check that no session holds a transaction open, which stops the vacuum of all tables."""
    found = rows("doctor/oldest_transaction")
    if not found:
        return good("open transactions", "none")
    seconds, pid, application, state = found[0]
    evidence = f"oldest {seconds:.0f} s: pid {pid}, {shown(application) or 'no name'}, {state}"
    remedy = f"See what pid {pid} does; pg_terminate_backend({pid}) ends it."
    if seconds > 600:
        return bad("open transactions", evidence, remedy)
    if seconds > 60:
        return odd("open transactions", evidence, remedy)
    return good("open transactions", f"oldest {max(0.0, seconds):.1f} s")


def sealed_values() -> Finding:
    """Check that the keys open stored values: the keys of another installation would not."""
    newest = TaskRevision.objects.select_related("task").order_by("-id").first()
    if newest is None:
        return good("sealed values", "nothing is stored yet")
    sealed = bytes(newest.sealed)
    key = shown(key_id_of(sealed))
    try:
        tenant_id = newest.task.tenant_id
        open_json(sealed, revision_context(tenant_id, newest.task_id, newest.version))
    except DecryptionFailed as error:
        remedy = "Restore the ENCRYPTION_KEYS, or the secrets.json, of this database."
        return bad("sealed values", error.message, remedy)
    return good("sealed values", f"the newest opens with {key}")


def _settings() -> dict[str, str]:
    return dict(rows("doctor/settings"))


def _tables(parent: str) -> set[str]:
    return {row[0] for row in rows("prune/existing_days", {"parent": parent})}


def sealed_targets() -> Finding:
    """Check that URLs and arguments of every tenant are sealed when they are stored."""
    sealing = DataKey.objects.filter(tenant=OuterRef("pk"), replaced_at=None, seals_targets=True)
    count = Tenant.objects.filter(~Exists(sealing)).count()
    if count:
        return odd(
            "sealed targets",
            f"tenants whose URLs and arguments lie in clear: {count}",
            "When no process of an older version runs: `manage.py keys reseal`.",
        )
    return good("sealed targets", "URLs and arguments are sealed when they are stored")
