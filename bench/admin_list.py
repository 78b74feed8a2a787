"""How long the admin's list of executions takes on a million of them.

Target: every list under 500 ms, over HTTP, as a logged-in operator. The rows lie in twenty past
days, nearly all succeeded; what some filters look for is rare or far back. Run:
``python -m bench.admin_list --start``.
"""

from __future__ import annotations

import argparse
import http.client
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

from bench import command_line, installation, report
from bench.members import enter, log_in
from operations.proof.percentiles import distribution

TARGET_MS = 500.0
PATH = "/admin/executions/execution/"
_DAYS = 20
_TASKS = 2000

_TASK_ROWS = """
INSERT INTO tasks (id, tenant_id, name, type, status, version, partition, priority, schedule,
    labels, pause_note, on_resume, last_execution_status)
SELECT uuidv7(), %(tenant)s, 'Report ' || n, 'RECURRING', 'COMPLETED', 1, n %% 256, 5,
    '{"every": "PT1H"}', '{}', '', 'skip', ''
FROM generate_series(1, %(count)s) AS n
"""
_EXECUTION_ROWS = """
INSERT INTO executions (id, tenant_id, task_id, partition, priority, pool, revision, status, reason,
    trigger, scheduled_for, due_at, finished_at, attempt, max_attempts, lost_count,
    timeout_seconds, incarnation, worker, held, error_code, error_message)
SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || '8000' || '8' || lpad(to_hex(n), 15, '0'))::uuid,
    %(tenant)s, tasks.id, tasks.partition, 5, 'default', 1,
    CASE WHEN n %% 50 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END, '', 'schedule', at, at, at, 1, 5, 0,
    30, '', 'w', false, CASE WHEN n %% 50 = 0 THEN 'http_status' ELSE '' END, ''
FROM (
    SELECT n, %(start)s::timestamptz + n * interval '86400 seconds' / %(count)s AS at
    FROM generate_series(0, %(count)s - 1) AS n
) AS r
JOIN (
    SELECT id, partition, row_number() OVER () AS number FROM tasks
    WHERE tenant_id = %(tenant)s
) AS tasks ON tasks.number = r.n %% %(tasks)s + 1
"""


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=10, help="requests of each list")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Fill the ledger, ask for each list, publish; 1 when one is over the target."""
    enter(product)
    task, oldest = _fill(chosen.rows)
    session = _log_in()
    found = {
        name: _time(product.base_url, query, session, chosen.repeat)
        for name, query in _lists(task, oldest)
    }
    worst = max(figures["max"] for figures in found.values())
    passed = worst < TARGET_MS
    lines = [f"lists of {chosen.rows} executions, {chosen.repeat} requests each:"]
    lines += [f"{name:36} p50 {f['p50']:6.1f}  max {f['max']:6.1f} ms" for name, f in found.items()]
    lines.append(f"worst {worst:.1f} ms (target under {TARGET_MS:g} ms)")
    lines.append("PASSED" if passed else "FAILED")
    figures = {"rows": chosen.rows, "lists": found, "passed": passed}
    report.publish("admin_list", figures, lines, chosen)
    return 0 if passed else 1


def _lists(task: Any, oldest: Any) -> Iterator[tuple[str, dict[str, str]]]:
    yield "everything", {}
    yield "deep: before the middle", {"before": str(_middle())}
    yield "status FAILED, one in fifty", {"status__exact": "FAILED"}
    yield "status CANCELLED, none at all", {"status__exact": "CANCELLED"}
    yield "status RUNNING, none at all", {"status__exact": "RUNNING"}
    yield "error code, none at all", {"error_code": "dns_failed"}
    yield "trigger manual, none at all", {"trigger__exact": "manual"}
    yield "of one task", {"task__id__exact": str(task)}
    yield "of one task, search by its id", {"q": str(task)}
    yield "of one task, failed", {"task__id__exact": str(task), "status__exact": "FAILED"}
    yield "the oldest one, by its id", {"q": str(oldest)}
    yield "name of the task begins with", {"q": "Report 77"}
    yield "name of no task", {"q": "Nothing"}
    yield "an id that nothing has", {"q": str(uuid4())}


def _fill(count: int) -> tuple[Any, Any]:
    """Write the rows; return a task, and the oldest execution's id."""
    from django.db import connection

    from executions.loop.clocks import database_now
    from shared.actor import COMMAND
    from tenants.services import create_tenant

    tenant = create_tenant(f"Bench {uuid4()}", actor=COMMAND, unlimited=True)
    today = database_now().replace(hour=0, minute=0, second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute(_TASK_ROWS, {"tenant": tenant.id, "count": _TASKS})
        for ago in range(_DAYS, 0, -1):
            day = today - timedelta(days=ago)
            _make_day(cursor, day)
            values: dict[str, Any] = {
                "tenant": tenant.id,
                "start": day,
                "count": count // _DAYS,
                "tasks": _TASKS,
            }
            cursor.execute(_EXECUTION_ROWS, values)
        cursor.execute("ANALYZE executions")
        cursor.execute("SELECT id FROM tasks WHERE name = 'Report 50' LIMIT 1")
        task = cursor.fetchone()[0]
        cursor.execute("SELECT id FROM executions ORDER BY id LIMIT 1")
        return task, cursor.fetchone()[0]


def _make_day(cursor: Any, day: Any) -> None:
    from shared.ids import first_id_at

    low, high = first_id_at(day), first_id_at(day + timedelta(days=1))
    cursor.execute(
        f"CREATE TABLE IF NOT EXISTS executions_{day:%Y%m%d} PARTITION OF ended_executions"
        f" FOR VALUES FROM ('{low}') TO ('{high}')"
    )


def _middle() -> Any:
    from executions.loop.clocks import database_now
    from shared.ids import first_id_at

    return first_id_at(database_now() - timedelta(days=_DAYS / 2))


def _log_in() -> str:
    from django.contrib.auth.models import User

    return log_in(User.objects.create_superuser(f"bench-{uuid4()}"))


def _time(base_url: str, query: dict[str, str], session: str, repeat: int) -> dict[str, float]:
    address = urlsplit(base_url)
    taken = []
    for _ in range(repeat + 1):
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        begun = time.perf_counter()
        connection.request(
            "GET", f"{PATH}?{urlencode(query)}", headers={"Cookie": f"sessionid={session}"}
        )
        answer = connection.getresponse()
        answer.read()
        taken.append(1000 * (time.perf_counter() - begun))
        connection.close()
        if answer.status != 200:
            raise installation.InstallationError(f"{PATH} answered {answer.status}")
    # The first request of a list warms templates and caches; it is held to the target as well.
    return distribution(taken).as_json()


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
