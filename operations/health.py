"""Liveness and readiness of the installation."""

from __future__ import annotations

from typing import Any

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from executions.ownership import fence
from shared.redis_client import ConnectionFailed
from shared.sql import rows
from wire.heartbeats import workers


def healthz(request: HttpRequest) -> JsonResponse:
    """Answer that this process answers; ask no other service."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 when work would run, else 503 with the failed checks."""
    checks = readiness()
    wrong = {name: found for name, found in checks.items() if found != "ok"}
    answer = JsonResponse(
        {"status": "unready" if wrong else "ok", "checks": checks}, status=503 if wrong else 200
    )
    if wrong:
        answer["Retry-After"] = "1"
        # A probe asks many times; a negative answer is not an error of this process.
        answer._has_been_logged = True  # type: ignore[attr-defined]  # read by Django's log
    return answer


def readiness() -> dict[str, str]:
    """Return the checks of what a running installation needs: name -> 'ok' or the problem."""
    checks: dict[str, str] = {}
    _check(checks, "database", _database)
    if checks["database"] == "ok":
        _check(checks, "migrations", _migrations)
        _check(checks, "scheduler", _scheduler)
        _check(checks, "fence", _fence)
    _check(checks, "redis", _redis)
    return checks


def _check(checks: dict[str, str], name: str, question: Any) -> None:
    try:
        checks[name] = question()
    except DatabaseError:
        checks[name] = "the database cannot be reached"
    except ConnectionFailed:
        checks[name] = "Redis cannot be reached"


def _database() -> str:
    rows("leases/database_time")
    return "ok"


_migrated = False


def _migrations() -> str:
    """Remember a positive answer: a schema does not go back while a process lives."""
    global _migrated
    if not _migrated:
        executor = MigrationExecutor(connection)
        _migrated = not executor.migration_plan(executor.loader.graph.leaf_nodes())
    return "ok" if _migrated else "migrations are missing: run `manage.py migrate`"


def _scheduler() -> str:
    owned, total = rows("leases/has_live_scheduler")[0]
    if owned == total > 0:
        return "ok"
    return f"{owned} of {total} partitions have a live scheduler"


def _fence() -> str:
    return f"nothing runs: held by the {fence.NAME}" if fence.holds() else "ok"


def _redis() -> str:
    live = [worker for worker in workers() if worker.takes_work]
    return "ok" if live else "no live worker takes work"
