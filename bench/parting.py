"""How long an installation of the version before takes to part its ledger and tasks, and back.

A PostgreSQL of its own gets a million tasks, ten million ended executions of thirty days and 50,000
unfinished ones, by SQL, on the schema before. Then: each migration is killed in the middle and
nothing has changed; it runs to its end; the way back; and forward again. Each time every row is
counted and summed. Run: ``python -m bench.parting`` (about half an hour).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from bench import command_line, report
from bench.installation import CHECKOUT, InstallationError
from shared.ids import first_id_at

#: App, the migration before, and the one that parts; in the order of the way there.
_STEPS = (
    ("executions", "0014_queued_attempts", "0015_queue_and_history"),
    ("tasks", "0019_name_zone_rules", "0020_cursors_apart"),
)
_TENANT = "0199b6f0-0000-7000-8000-000000000001"
_TASKS = """
INSERT INTO tasks (id, tenant_id, name, type, status, version, partition, priority, schedule,
    labels, next_run_at, occurrence_count, pause_note, on_resume, last_execution_status)
SELECT (lpad(to_hex(n), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid, %(tenant)s,
    'task ' || n, 'RECURRING', 'SCHEDULED', 1, n %% 256, 5, '{"every": "PT1H"}', '{}',
    now() + interval '300 days' + n * interval '1 second', 0, '', 'skip', ''
FROM generate_series(1, %(tasks)s) AS n
"""
_DAY = """
CREATE TABLE IF NOT EXISTS executions_%(name)s PARTITION OF executions
    FOR VALUES FROM ('%(low)s') TO ('%(high)s')
"""
_ENDED = """
INSERT INTO executions (id, tenant_id, task_id, partition, band, pool, revision, status, reason,
    trigger, scheduled_for, due_at, queued_at, started_at, finished_at, start_delay_ms, attempt,
    max_attempts, lost_count, timeout_seconds, incarnation, worker, held, response_status,
    error_code, error_message)
SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '8000' || '8'
        || lpad(to_hex(n), 15, '0'))::uuid, %(tenant)s, task, n %% 256, 1, 'default', 1,
    CASE WHEN n %% 50 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END, '', 'schedule', at, at, at,
    at, at + interval '80 ms', 3, 1, 5, 0, 30, 'an incarnation of Redis', 'worker-1', false,
    CASE WHEN n %% 50 = 0 THEN 503 ELSE 200 END,
    CASE WHEN n %% 50 = 0 THEN 'http_status' ELSE '' END, ''
FROM (
    SELECT n, %(start)s::timestamptz + n * interval '86390 seconds' / %(count)s AS at,
        (lpad(to_hex(m), 12, '0') || '7000' || '8' || lpad(to_hex(m), 15, '0'))::uuid AS task
    FROM generate_series(1, %(count)s) AS n,
        LATERAL (SELECT n::bigint * 7919 %% %(tasks)s + 1 AS m) t
) AS r
"""
_OPEN = """
INSERT INTO executions (id, tenant_id, task_id, partition, band, pool, revision, status, reason,
    trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds, incarnation,
    worker, held, error_code, error_message, fencing_token, lease_expires_at)
SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '8000' || '9'
        || lpad(to_hex(n), 15, '0'))::uuid, %(tenant)s, task, n %% 256, 1, 'default', 1,
    (ARRAY['PENDING', 'RETRYING', 'QUEUED', 'RUNNING'])[n %% 4 + 1], '', 'schedule', at, at,
    0, 5, 0, 30, '', '', n %% 7 = 0, '', '', CASE WHEN n %% 4 > 1 THEN n END,
    CASE WHEN n %% 4 > 1 THEN at + interval '1 minute' END
FROM (
    SELECT n, %(start)s::timestamptz + n * interval '1 second' AS at,
        (lpad(to_hex(n), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid AS task
    FROM generate_series(1, %(count)s) AS n
) AS r
"""
_SUM = """
SELECT status, count(*), sum(hashtextextended(id::text || status || coalesce(worker, '')
    || coalesce(finished_at::text, ''), 0)::numeric)::text
FROM executions GROUP BY status ORDER BY status
"""
_SUM_OF_TASKS = """
SELECT count(*), sum(hashtextextended(t.id::text || coalesce(c.next_run_at::text, '')
    || coalesce(c.occurrence_count, 0)::text, 0)::numeric)::text
FROM tasks t {cursors}
"""
#: Where the cursors are: in their table, or in the tasks.
_APART = "LEFT JOIN task_cursors c ON c.task_id = t.id"
_TOGETHER = "JOIN tasks c ON c.id = t.id"


def main(arguments: list[str]) -> int:
    """Fill, kill, migrate, go back, migrate again; 1 when a row is lost or altered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--unfinished", type=int, default=50_000)
    report.add_arguments(parser)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="punctual-parting-") as scratch:
        return _measure(chosen, Path(scratch))


def _measure(chosen: argparse.Namespace, scratch: Path) -> int:
    from launcher.embedded import place_servers
    from launcher.embedded_postgres import EmbeddedPostgres
    from tests.support.servers import (
        SECRETS,
        reachable_directory,
        remove,
        spawn_server,
        stop_server,
    )

    data_dir = reachable_directory(scratch)
    placement = place_servers(data_dir)
    server = EmbeddedPostgres(placement, SECRETS)
    process = spawn_server(server)
    try:
        server.wait_ready()
        figures = _figures(chosen, server.url)
    finally:
        stop_server(server, process)
        remove(data_dir, placement)
    lines = [f"{name}: {value}" for name, value in figures.items()]
    report.publish("parting", figures, lines, chosen)
    return 0 if figures["kept"] else 1


def _figures(chosen: argparse.Namespace, url: str) -> dict[str, Any]:
    _migrate(url, "", app="")
    for app, before, _ in reversed(_STEPS):
        _migrate(url, before, app)
    with psycopg.connect(url, autocommit=True) as session:
        _fill(session, chosen)
    first = _sums(url)
    figures: dict[str, Any] = {"rows": sum(row[1] for row in first[0])}
    same = []
    for app, _, after in _STEPS:
        figures[f"{app}_killed_after_s"] = round(_killed(url, app, after), 1)
        same.append(_sums(url) == first)
        _take(figures, f"{app}_forward", url, app, after)
        same.append(_sums(url) == first)
    for app, before, _ in reversed(_STEPS):
        _take(figures, f"{app}_back", url, app, before)
        same.append(_sums(url) == first)
    for app, _, after in _STEPS:
        _take(figures, f"{app}_again", url, app, after)
        same.append(_sums(url) == first)
    return {**figures, "same_after_each": same, "kept": all(same)}


def _take(figures: dict[str, Any], name: str, url: str, app: str, target: str) -> None:
    began = time.monotonic()
    said = _migrate(url, target, app)
    figures[f"{name}_s"] = round(time.monotonic() - began, 1)
    figures[f"{name}_said"] = said[-3:]


def _sums(url: str) -> list[Any]:
    """Return what stands in executions and tasks, whichever form they have."""
    with psycopg.connect(url, autocommit=True) as session:
        [(apart,)] = session.execute("SELECT to_regclass('task_cursors') IS NOT NULL").fetchall()
        of_tasks = _SUM_OF_TASKS.format(cursors=_APART if apart else _TOGETHER)
        return [session.execute(_SUM).fetchall(), session.execute(of_tasks).fetchall()]


def _fill(session: psycopg.Connection[Any], chosen: argparse.Namespace) -> None:
    tenant = {"tenant": _TENANT, "tasks": chosen.tasks}
    # Without the checks of foreign keys: the tenant is no row.
    session.execute("SET session_replication_role = replica")
    session.execute(_TASKS, tenant)
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for ago in range(chosen.days, -3, -1):
        start = today - timedelta(days=ago)
        bounds = {"low": first_id_at(start), "high": first_id_at(start + timedelta(days=1))}
        session.execute(_DAY % {"name": f"{start:%Y%m%d}", **bounds})
        if ago > 0:
            count = chosen.rows // chosen.days
            session.execute(_ENDED, {**tenant, "start": start, "count": count})
    session.execute(_OPEN, {**tenant, "start": today, "count": chosen.unfinished})
    session.execute("VACUUM ANALYZE")


def _migrate(url: str, target: str, app: str) -> list[str]:
    done = subprocess.run(
        _command(app, target),
        cwd=CHECKOUT,
        env=_environment(url),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise InstallationError(f"migrate {app} {target}: {done.stderr[-2000:]}")
    return [line.strip() for line in done.stdout.splitlines() if " s  " in line]


def _killed(url: str, app: str, target: str) -> float:
    """Kill the migration as soon as it says how far it is, which is before its end."""
    read, write = os.pipe()
    process = subprocess.Popen(
        _command(app, target), cwd=CHECKOUT, env=_environment(url), stdout=write
    )
    os.close(write)
    began, said = time.monotonic(), b""
    while b" s  " not in said and (more := os.read(read, 4096)):
        said += more
    process.kill()
    os.close(read)
    if process.wait() == 0:
        raise InstallationError("the migration ended before it could be killed")
    return time.monotonic() - began


def _command(app: str, target: str) -> list[str]:
    return [sys.executable, "manage.py", "migrate", *filter(None, (app, target))]


def _environment(url: str) -> dict[str, str]:
    settings = {"DJANGO_SETTINGS_MODULE": "scheduler_site.settings_test", "DATABASE_URL": url}
    return {**os.environ, **settings}


if __name__ == "__main__":
    command_line.run(main)
