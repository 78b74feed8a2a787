"""How long an installation of the version before takes to part its executions, and back.

A PostgreSQL of its own gets a million tasks, ten million ended executions of thirty days and 50,000
unfinished ones, by SQL, on the schema before. Then: the migration is killed in the middle and
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

_BEFORE, _AFTER = "0014_queued_attempts", "0015_queue_and_history"
_KILLED_AFTER_SECONDS = 4.0
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
    from scheduler_site.embedded import place_servers
    from scheduler_site.embedded_postgres import EmbeddedPostgres
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
    _migrate(url, _BEFORE)
    with psycopg.connect(url, autocommit=True) as session:
        _fill(session, chosen)
        before = session.execute(_SUM).fetchall()
    killed = _killed(url)
    with psycopg.connect(url, autocommit=True) as session:
        same = [session.execute(_SUM).fetchall() == before]
    rows = sum(row[1] for row in before)
    figures: dict[str, Any] = {"killed_after_s": round(killed, 1), "rows": rows}
    for name, target in (("forward_s", _AFTER), ("back_s", _BEFORE), ("again_s", _AFTER)):
        began = time.monotonic()
        said = _migrate(url, target)
        figures[name] = round(time.monotonic() - began, 1)
        figures[name.replace("_s", "_said")] = said[-3:]
        with psycopg.connect(url, autocommit=True) as session:
            same.append(session.execute(_SUM).fetchall() == before)
    return {**figures, "same_after_each": same, "kept": all(same)}


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


def _migrate(url: str, target: str, app: str = "executions") -> list[str]:
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


def _killed(url: str) -> float:
    began = time.monotonic()
    process = subprocess.Popen(_command("executions", _AFTER), cwd=CHECKOUT, env=_environment(url))
    try:
        process.wait(_KILLED_AFTER_SECONDS)
        raise InstallationError("the migration ended before it could be killed")
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return time.monotonic() - began


def _command(app: str, target: str) -> list[str]:
    return [sys.executable, "manage.py", "migrate", *filter(None, (app, target))]


def _environment(url: str) -> dict[str, str]:
    settings = {"DJANGO_SETTINGS_MODULE": "scheduler_site.settings_test", "DATABASE_URL": url}
    return {**os.environ, **settings}


if __name__ == "__main__":
    command_line.run(main)
