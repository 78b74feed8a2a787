"""What answers of the API have to say, counted anew from the tables and from Redis."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import orjson
import pytest

from shared.instants import format_instant
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, WORKER_INFO_KEY, WORKERS_KEY, client
from tests.recount import history
from tests.recount.answers import Recount, Since
from tests.recount.recounts import BOUNDS, MOVING, RECOUNTS, World, delays, ended, executions
from tests.recount.world import CALLS, ask, minute_of, one

WORKER = "slow@host:1"
_ENDS = ("succeeded", "failed", "retried", "cancelled")
#: Each attempt of a tenant that has ended: when, what came of it, and whether it was the first.
_ATTEMPTS = """
SELECT date_trunc('minute', a.finished_at, 'UTC'), a.number = 1, e.pool LIKE 'pull.%%',
       CASE WHEN a.number < e.attempt OR e.status = 'RETRYING' THEN 'retried'
            ELSE lower(e.status) END,
       extract(epoch FROM a.started_at - a.due_at)::float8 * 1000
FROM attempts a JOIN executions e ON e.id = a.execution_id
WHERE a.tenant_id = %s AND e.pool <> 'workflow'
"""
_USED = """
SELECT (a.finished_at AT TIME ZONE 'UTC')::date AS day, count(*),
       count(*) FILTER (WHERE a.number = 1),
       count(*) FILTER (WHERE a.number = e.attempt AND e.status = 'SUCCEEDED'),
       count(*) FILTER (WHERE a.number = e.attempt AND e.status = 'FAILED'),
       count(*) FILTER (WHERE a.number = e.attempt AND e.status = 'CANCELLED'),
       sum(greatest(0, round(extract(epoch FROM a.finished_at - a.started_at) * 1000)))::bigint,
       coalesce(sum(octet_length(a.sealed_response)), 0)::bigint
FROM attempts a JOIN executions e ON e.id = a.execution_id
WHERE a.tenant_id = %s GROUP BY 1
"""
_RUNS = """
SELECT (finished_at AT TIME ZONE 'UTC')::date, count(*) FILTER (WHERE status = 'SUCCEEDED'),
       count(*) FILTER (WHERE status = 'FAILED')
FROM executions WHERE tenant_id = %s AND pool = 'workflow' AND finished_at IS NOT NULL GROUP BY 1
"""
_FIGURES = (
    *("attempts", "executions_started", "executions_succeeded", "executions_failed"),
    *("executions_cancelled", "execution_seconds", "recorded_bytes"),
    *("workflow_runs_succeeded", "workflow_runs_failed"),
)


def _count(world: World, name: str, row: str | None = None) -> int:
    return int(RECOUNTS[name](world, row))


def _percentile(found: list[float], share: float) -> float:
    bound = next((one for one in BOUNDS if found[math.ceil(share * len(found)) - 1] <= one), 60_000)
    return float(bound)


def _overview(world: World) -> dict[str, Any]:
    started = delays(world)
    good, bad = ended(world, "SUCCEEDED"), ended(world, "FAILED")
    names = ("due_now", "running", "retrying", "late", "dead_letters_open", "paused_tasks")
    hour = {
        "succeeded": good,
        "failed": bad,
        "retried": sum(row["retried"] for row in _minutes(world)["minutes"]),
        "late": sum(delay > 1000 for delay in started),
        "success_rate": pytest.approx(good / (good + bad)),
        "start_delay_ms": {
            **{f"p{share}": _percentile(started, share / 100) for share in (50, 95, 99)},
            "count": len(started),
        },
    }
    return {
        **{name: _count(world, f"overview.{name}") for name in (*names, "standing_pauses")},
        "queued": executions(world, "status = 'QUEUED'"),
        "oldest_due_seconds": Since(world, MOVING["overview.oldest_due_seconds"](world, None)),
        "last_hour": hour,
    }


def _minutes(world: World) -> dict[str, Any]:
    first = minute_of(world.at) - timedelta(minutes=59)
    rows = {first + timedelta(minutes=n): _empty() for n in range(60)}
    for minute, is_first, is_pull, became, delay in ask(_ATTEMPTS, world.tenant.pk):
        if minute in rows:
            rows[minute][became] += 1
            if is_first and not is_pull and delay is not None:
                rows[minute]["start_delays"][bisect_left(BOUNDS, round(delay, 6))] += 1
                rows[minute]["late"] += delay > 1000
    shown = [{"minute": format_instant(minute), **row} for minute, row in rows.items()]
    return {"minutes": shown, "bucket_bounds_ms": list(BOUNDS)}


def _empty() -> dict[str, Any]:
    return {**dict.fromkeys((*_ENDS, "late"), 0), "start_delays": [0] * (len(BOUNDS) + 1)}


def _usage(world: World) -> dict[str, Any]:
    runs = {day: counts for day, *counts in ask(_RUNS, world.tenant.pk)}
    used = {
        day: [*counts, milliseconds / 1000, recorded]
        for day, *counts, milliseconds, recorded in ask(_USED, world.tenant.pk)
    }
    last = world.at.date()
    days = [last - timedelta(days=ago) for ago in range(29, -1, -1)]
    rows = [[*used.get(day, [0] * 7), *runs.get(day, [0, 0])] for day in days]
    total = [sum(column) for column in zip(*rows, strict=True)]
    return {
        "days": [
            {"day": day.isoformat(), **_named(row)} for day, row in zip(days, rows, strict=True)
        ],
        "total": _named(total),
    }


def _named(row: list[Any]) -> dict[str, Any]:
    return {name: pytest.approx(value) for name, value in zip(_FIGURES, row, strict=True)}


def _workers(world: World) -> dict[str, Any]:
    found: Any = client().zrange(WORKERS_KEY, 0, -1, withscores=True)
    shown = [
        {
            "id": name.decode(),
            "silent_seconds": Since(world, beat),
            "capacity": said["slots"],
            "in_flight": _in_hand(said, name.decode(), world),
            "held": said.get("held", 0),
            "cpu_percent": said.get("cpu_percent"),
            "memory_bytes": said.get("memory_bytes"),
        }
        for name, beat, said in _described(found)
        if said.get("tenant", str(world.tenant.pk)) == str(world.tenant.pk)
    ]
    recorders = [
        {
            "name": consumer["name"].decode(),
            "silent_seconds": Since(world, MOVING["recorder.silent_seconds"](world, name)),
            "pending": _count(world, "recorder.pending", name),
        }
        for consumer in client().xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP)
        for name in [consumer["name"].decode()]
    ]
    return {"workers": shown, "recorders": recorders}


def _described(beats: Any) -> Iterator[tuple[bytes, float, dict[str, Any]]]:
    for name, beat in beats:
        raw: Any = client().hget(WORKER_INFO_KEY, name)
        yield name, beat, orjson.loads(raw)


def _in_hand(said: dict[str, Any], name: str, world: World) -> int:
    return _count(world, "worker.leased", name) if "tenant" in said else said["running"]


def _schedulers(world: World) -> dict[str, Any]:
    found = ask("SELECT id::text, heartbeat_at FROM scheduler_nodes")
    return {
        "schedulers": [
            {
                "id": node,
                "silent_seconds": Since(world, heard.timestamp()),
                "partitions": _count(world, "scheduler.partitions", node),
            }
            for node, heard in found
        ]
    }


def _history(world: World, by: str) -> dict[str, Any]:
    at = World(world.tenant, world.at, WORKER)
    shown = [
        {by: format_instant(row.at), **(_of_minute(row) if by == "minute" else _of_hour(row))}
        for row in history.rows(at, 168, by)
    ]
    return {f"{by}s": shown}


def _of_minute(row: Any) -> dict[str, Any]:
    return {
        "capacity": row.slots,
        "in_flight": row.running[0],
        "held": row.held[0],
        "ended": row.ended[0],
        "cpu_percent": row.cpu[0],
        "memory_bytes": row.memory[0],
    }


def _of_hour(row: Any) -> dict[str, Any]:
    return {
        "minutes": len(row.running),
        "capacity": row.slots,
        "in_flight": pytest.approx(sum(row.running) / len(row.running), abs=0.051),
        "most_in_flight": max(row.running),
        "held": pytest.approx(sum(row.held) / len(row.held), abs=0.051),
        "most_held": max(row.held),
        "ended": row.count,
        "cpu_percent": pytest.approx(sum(row.cpu) / len(row.cpu), abs=0.051),
        "most_cpu_percent": pytest.approx(max(row.cpu), abs=0.051),
        "most_memory_bytes": max(row.memory),
    }


def _earlier(world: World) -> dict[str, Any]:
    over = world.at.replace(minute=0, second=0, microsecond=0)
    count = one(
        "SELECT sum(ended_in_minute)::bigint FROM worker_minutes WHERE worker = %s AND minute < %s",
        WORKER,
        over,
    )
    return {"workers": [{"id": WORKER, "ended": count}]}


def _shares(world: World) -> dict[str, Any]:
    found = ask(
        "SELECT minute, due, received, oldest_wait FROM share_minutes"
        " WHERE tenant_id = %s AND pool = 'default' AND minute >= %s ORDER BY minute",
        world.tenant.pk,
        world.at - timedelta(minutes=60),
    )
    due, received = sum(row[1] for row in found), sum(row[2] for row in found)
    pool = {
        "pool": "default",
        "scarce_minutes": len(found),
        "due": pytest.approx(due, abs=0.051),
        "received": received,
        "ratio": pytest.approx(received / due, abs=0.00051),
        "oldest_wait_seconds": max(row[3] for row in found),
        "by_minute": [
            {
                "minute": format_instant(minute),
                "due": pytest.approx(owed, abs=0.051),
                "received": got,
                "oldest_wait_seconds": wait,
            }
            for minute, owed, got, wait in found
        ],
    }
    return {"pools": [pool]}


def _groups(world: World) -> dict[str, Any]:
    causes = ask(
        "SELECT error_signature, count(*), count(DISTINCT task_id) FROM dead_letters"
        " WHERE tenant_id = %s AND NOT resolved GROUP BY 1",
        world.tenant.pk,
    )
    names = ("error_signature", "count", "tasks")
    groups = [dict(zip(names, cause, strict=True)) for cause in causes]
    return {"groups": groups, "pagination": {"total": len(causes)}}


def _destinations(world: World) -> dict[str, Any]:
    hosts = [
        host
        for [host] in ask(
            "SELECT destination FROM tasks WHERE tenant_id = %s AND deleted_at IS NULL"
            " AND destination <> '' AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')"
            " UNION SELECT host FROM destinations WHERE tenant_id = %s",
            world.tenant.pk,
            world.tenant.pk,
        )
    ]
    return {
        "destinations": [
            {
                "host": host,
                "calls": CALLS.get(host, (0, 0))[0],
                "failures": CALLS.get(host, (0, 0))[1],
                "in_flight": int(RECOUNTS["destination.in_flight"](world, host).split()[0]),
                "parked": _count(world, "destination.parked", host),
                "tasks": _count(world, "destination.tasks", host),
            }
            for host in hosts
        ]
    }


def _keys(world: World) -> dict[str, Any]:
    sql = (
        "SELECT concurrency_key, count(*) FILTER (WHERE key_place > 0),"
        " count(*) FILTER (WHERE key_place = 0 AND NOT gated AND due_at <= %s)"
        " FROM open_executions WHERE tenant_id = %s AND concurrency_key <> '' GROUP BY 1"
    )
    names = ("key", "in_use", "waiting")
    found = ask(sql, world.at, world.tenant.pk)
    return {"concurrency_keys": [dict(zip(names, row, strict=True)) for row in found]}


def _pools(world: World) -> dict[str, Any]:
    of_pool = "pool = 'pull.batch' AND status IN"
    heard = [
        said
        for _, _, said in _described(client().zrange(WORKERS_KEY, 0, -1, withscores=True))
        if said.get("tenant") == str(world.tenant.pk)
    ]
    return {
        "pools": [
            {
                "name": "batch",
                "depth": executions(
                    world,
                    f"{of_pool} ('PENDING', 'RETRYING') AND NOT held AND due_at <= %s",
                    world.at,
                ),
                "in_flight": executions(world, f"{of_pool} ('QUEUED', 'RUNNING')"),
                "live_workers": len(heard),
            }
        ]
    }


def _quotas(world: World) -> dict[str, Any]:
    limits = dict(
        ask(
            "SELECT key, value::text::bigint FROM tenants, jsonb_each(quotas) WHERE id = %s",
            world.tenant.pk,
        )
    )
    used = {
        "stored_tasks": one(
            "SELECT count(*) FROM tasks WHERE tenant_id = %s AND deleted_at IS NULL",
            world.tenant.pk,
        ),
        "stored_payload_bytes": sum(
            len(sealed)
            for [sealed] in ask(
                "SELECT r.sealed FROM task_revisions r JOIN tasks t ON t.id = r.task_id"
                " WHERE t.tenant_id = %s AND t.deleted_at IS NULL AND r.sealed IS NOT NULL",
                world.tenant.pk,
            )
        ),
        "runs_in_flight": executions(
            world,
            "pool = 'workflow' AND step IS NULL AND (status = 'RUNNING'"
            " OR status = 'PENDING' AND trigger = 'retry')",
        ),
        "steps_in_flight": executions(
            world,
            "run_id IS NOT NULL AND step IS NOT NULL AND pool <> 'workflow'"
            " AND status IN ('PENDING', 'QUEUED', 'RUNNING', 'RETRYING')",
        ),
    }
    return {
        "quotas": [
            {
                "name": name,
                "used": count,
                "share": pytest.approx(count / limits[name], abs=0.00006),
            }
            for name, count in used.items()
        ]
    }


def _pauses(world: World) -> dict[str, Any]:
    sql = (
        "SELECT p.id::text, (SELECT count(*) FROM tasks t WHERE t.pause_id = p.id"
        " AND t.deleted_at IS NULL) FROM pauses p WHERE p.tenant_id = %s"
    )
    found = ask(sql, world.tenant.pk)
    return {
        "pauses": [{"id": pause, "task_count": count} for pause, count in found],
        "pagination": {"total": len(found)},
    }


def _jobs(world: World) -> dict[str, Any]:
    sql = (
        "SELECT i.job_id::text, count(*), count(*) FILTER (WHERE i.outcome = 'done'),"
        " count(*) FILTER (WHERE i.outcome = 'skipped'),"
        " count(*) FILTER (WHERE i.outcome = 'failed'),"
        " count(*) FILTER (WHERE i.outcome IS NULL)"
        " FROM bulk_job_items i JOIN bulk_jobs j ON j.id = i.job_id WHERE j.tenant_id = %s"
        " GROUP BY 1"
    )
    names = ("id", "total", "done", "skipped", "failed", "remaining")
    found = [dict(zip(names, row, strict=True)) for row in ask(sql, world.tenant.pk)]
    return {"bulk_jobs": found, "pagination": {"total": len(found)}}


_UNCOUNTED = frozenset({"limit", "page"})
RECOUNTED: dict[str, Recount] = {
    "overview": Recount(
        "/v1/overview",
        _overview,
        (
            *("overview.due_now", "overview.late", "overview.queued", "overview.running"),
            *("overview.retrying", "overview.oldest_due_seconds", "overview.paused_tasks"),
            *("overview.standing_pauses", "letters.open", "hour.succeeded", "hour.failed"),
            *("hour.success_rate", "hour.retried", "hour.late", "hour.starts"),
            "hour.start_delay_ms",
        ),
    ),
    "minutes": Recount(
        "/v1/stats/throughput",
        _minutes,
        ("minute.ended", "minute.late", "minute.start_delays"),
    ),
    "usage": Recount(
        "/v1/usage",
        _usage,
        (
            *("usage.executions", "usage.attempts", "usage.execution_seconds"),
            "usage.workflow_runs",
        ),
    ),
    "workers": Recount(
        "/v1/workers",
        _workers,
        ("process.silent_seconds", "worker.in_flight", "worker.held", "worker.load"),
    ),
    "schedulers": Recount(
        "/v1/schedulers",
        _schedulers,
        ("scheduler.partitions",),
        frozenset({"partition", "epoch"}),
    ),
    "worker minutes": Recount(
        f"/v1/workers/{WORKER}/history?resolution=minute&hours=168",
        lambda world: _history(world, "minute"),
        ("worker_minute.load", "worker_minute.ended"),
    ),
    "worker hours": Recount(
        f"/v1/workers/{WORKER}/history?resolution=hour&hours=168",
        lambda world: _history(world, "hour"),
        ("worker_hour.load",),
    ),
    "earlier workers": Recount("/v1/workers/earlier", _earlier, ("worker_hour.ended",)),
    "shares": Recount(
        "/v1/shares",
        _shares,
        ("share.received", "share.due"),
        frozenset({"weight", "minutes"}),
    ),
    "causes": Recount(
        "/v1/dlq?resolved=false&group_by=error_signature",
        _groups,
        ("cause.count", "cause.tasks", "list.total"),
        _UNCOUNTED,
    ),
    "destinations": Recount(
        "/v1/destinations",
        _destinations,
        ("destination.calls", "destination.in_flight", "destination.parked", "destination.tasks"),
        frozenset({"max_in_flight", "rate_per_second", "version"}),
    ),
    "keys": Recount("/v1/concurrency-keys", _keys, ("key.in_use", "key.waiting")),
    "pools": Recount(
        "/v1/pools",
        _pools,
        ("pool.depth", "pool.in_flight", "pool.live_workers"),
        frozenset({"max_in_flight", "version"}),
    ),
    "quotas": Recount("/v1/quotas", _quotas, ("quota.used",), frozenset({"limit"})),
    "pauses": Recount("/v1/pauses", _pauses, ("pause.task_count",), _UNCOUNTED),
    "bulk jobs": Recount(
        "/v1/bulk-jobs",
        _jobs,
        ("bulk.items",),
        _UNCOUNTED | {"filter", "options"},
    ),
}
