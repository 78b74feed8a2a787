"""A hundred thousand schedules due within the same five minutes: what materializing them costs.

Runs the real stage in this process on a PostgreSQL of its own, under a clock that jumps from
horizon to horizon, and compares it in the same run with the raw limit: the same rows written by
one plain INSERT. Run: ``python -m bench.herd --schedules 100000``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench import command_line, report
from operations.proof.percentiles import distribution

#: A minute that is far enough from today for its day to hold nothing else.
_START = datetime(2027, 6, 1, 12, 0, tzinfo=UTC)
_MINUTES = 5
_ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney")
_BATCH = 5000
_RAW_INSERT = """
INSERT INTO executions (id, tenant_id, task_id, partition, priority, pool, revision, status, reason,
    trigger, scheduled_for, due_at, attempt, max_attempts, lost_count, timeout_seconds,
    incarnation, worker, held, error_code, error_message, created_at)
SELECT overlay(e.id::text placing '7' from 15)::uuid, e.tenant_id, e.task_id, e.partition,
       e.priority, e.pool, e.revision, e.status, e.reason, e.trigger, e.scheduled_for, e.due_at,
       e.attempt, e.max_attempts, e.lost_count, e.timeout_seconds, e.incarnation, e.worker, e.held,
       e.error_code, e.error_message, e.created_at
FROM executions e
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the passes of the five minutes took."""

    seconds: float
    cpu_seconds: float
    passes: list[float]
    rows: int


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=100_000)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


@contextmanager
def database() -> Iterator[None]:
    """Start a PostgreSQL as ``up`` does, migrated, and let this process use it."""
    from launcher.embedded import place_servers
    from launcher.embedded_postgres import EmbeddedPostgres
    from tests.support.servers import remove, spawn_server, stop_server

    directory = Path(tempfile.mkdtemp(prefix="punctual-herd-"))
    directory.chmod(0o711)
    server = EmbeddedPostgres(place_servers(directory), {"postgres_password": "herd"})
    process = spawn_server(server)
    try:
        server.wait_ready()
        os.environ["DATABASE_URL"] = server.url
        os.environ["DATA_DIR"] = str(directory)
        os.environ["DJANGO_SETTINGS_MODULE"] = "scheduler_site.settings_test"
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        yield
    finally:
        stop_server(server, process)
        remove(directory, server.placement)


def create(count: int) -> None:
    """Create the schedules, each due once within the five minutes."""
    from executions.ledger import days
    from executions.loop.clocks import database_now
    from shared.actor import COMMAND
    from tasks.creation import create_tasks
    from tasks.limits import current_limits
    from tasks.validation.bodies import parse_create
    from tenants.services import create_tenant

    tenant = create_tenant("herd", actor=COMMAND, unlimited=True)
    before = _START - timedelta(seconds=30)
    days.ensure_days_ahead(database_now())
    days.make_days([_START])
    limits = current_limits()
    bodies = [
        {
            "name": f"herd {number}",
            "schedule": {
                "cron_expression": f"{number % _MINUTES}-59/{_MINUTES} * * * *",
                "timezone": _ZONES[number % len(_ZONES)],
            },
            "target": {"url": "https://api.example.com/herd"},
            "payload": {"number": number},
        }
        for number in range(count)
    ]
    for begin in range(0, count, _BATCH):
        part = bodies[begin : begin + _BATCH]
        definitions = [parse_create(body, now=before, limits=limits) for body in part]
        create_tasks(tenant.id, definitions, actor=COMMAND, now=before)


def materialize_all() -> Cost:
    """Run the stage through the five minutes; every pass is timed."""
    from executions.materialize import stage as materialize
    from executions.models import Execution
    from executions.ownership.partitions import Partitions
    from shared.conf import conf

    partitions = Partitions()
    now = _START
    # The clock of this report.
    materialize.database_now = lambda: now  # type: ignore[attr-defined]  # imported there
    passes: list[float] = []
    begun, cpu = time.perf_counter(), time.process_time()
    # The last minute of the five begins before its end; the horizon looks ahead of it.
    while now < _START + timedelta(minutes=_MINUTES) - timedelta(seconds=conf().horizon_seconds):
        partitions.run_once()
        while True:
            pass_begun = time.perf_counter()
            done = materialize.run_once(partitions).done
            if not done:
                break
            passes.append((time.perf_counter() - pass_begun) * 1000)
            if not partitions.held:
                partitions.run_once()
        now += timedelta(seconds=conf().horizon_seconds)
    seconds = time.perf_counter() - begun
    return Cost(seconds, time.process_time() - cpu, passes, Execution.objects.count())


def insert_raw() -> float:
    """Write as many rows by one plain statement, and undo it, three times; return the median."""
    from django.db import connection, transaction

    taken = []
    for _ in range(3):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 0")
            begun = time.perf_counter()
            cursor.execute(_RAW_INSERT)
            taken.append(time.perf_counter() - begun)
            transaction.set_rollback(True)
    return statistics.median(taken)


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    with database():
        created = time.perf_counter()
        create(chosen.schedules)
        create_seconds = time.perf_counter() - created
        cost = materialize_all()
        raw_seconds = insert_raw()
    faults = [] if cost.rows == chosen.schedules else [f"{cost.rows} rows were written"]
    lines = [
        f"{chosen.schedules} schedules created in {create_seconds:.1f} s",
        f"materialized {cost.rows} rows in {cost.seconds:.1f} s "
        f"({cost.rows / cost.seconds:.0f} a second), {cost.cpu_seconds:.1f} s of this process",
        f"passes of {cost.rows / max(1, len(cost.passes)):.0f} tasks, ms: "
        f"{distribution(cost.passes)}",
        f"a plain INSERT of as many rows: {raw_seconds:.1f} s; "
        f"the stage takes {cost.seconds / raw_seconds:.1f} times as long",
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    figures = {
        "schedules": chosen.schedules,
        "rows": cost.rows,
        "seconds": round(cost.seconds, 2),
        "cpu_seconds": round(cost.cpu_seconds, 2),
        "raw_seconds": round(raw_seconds, 2),
        "ratio_to_raw": round(cost.seconds / raw_seconds, 2),
        "passed": not faults,
    }
    report.publish("herd", figures, lines, chosen)
    return 1 if faults else 0


if __name__ == "__main__":
    command_line.run(main)
