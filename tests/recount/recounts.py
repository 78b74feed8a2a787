"""What each number of a page has to be, counted anew from the tables and from Redis.

Plain SQL and Python over raw rows: nothing here calls what the product counts with. A recount
takes the world and the row that the number stands in, and returns the text, or the texts, that
may stand there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, WORKER_INFO_KEY, WORKERS_KEY, client
from tenants.models import Tenant
from tests.recount.world import CALLS, ask, minute_of, one

_MINUTE = timedelta(minutes=1)
#: Upper bounds of the buckets of start delays in milliseconds.
BOUNDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000)
_WAITS = "status IN ('PENDING', 'RETRYING') AND NOT held"


@dataclass(frozen=True)
class World:
    """Whose page it is, the database's time before it was shown, and the worker that it is of."""

    tenant: Tenant
    at: datetime
    page_of: str = ""


Recount = Callable[[World, str | None], str]


def executions(world: World, condition: str, *parameters: Any) -> int:
    """Count executions of the tenant."""
    sql = "SELECT count(*) FROM executions WHERE tenant_id = %s AND span_count IS NULL AND "
    return int(one(sql + condition, world.tenant.pk, *parameters))


def since_of(world: World) -> datetime:
    """Return where the last hour begins: at the 59th minute before the one under way."""
    return minute_of(world.at) - 59 * _MINUTE


def ended(world: World, status: str) -> int:
    """Count executions and runs that ended so within the last hour, with an attempt; no steps."""
    condition = "status = %s AND finished_at >= %s AND attempt > 0"
    condition += " AND (step IS NULL OR pool = 'workflow')"
    return executions(world, condition, status, since_of(world))


def retried(world: World) -> int:
    """Count attempts of the last hour that another attempt follows, or is to follow."""
    sql = (
        "SELECT count(*) FROM attempts a JOIN executions e ON e.id = a.execution_id"
        " WHERE a.tenant_id = %s AND a.finished_at >= %s"
        " AND (a.number < e.attempt OR e.status = 'RETRYING')"
    )
    return int(one(sql, world.tenant.pk, since_of(world)))


def delays(world: World) -> list[float]:
    """Return the start delays of the first attempts that ended within the last hour, sorted."""
    sql = (
        "SELECT extract(epoch FROM a.started_at - a.due_at)::float8 * 1000 FROM attempts a"
        " JOIN executions e ON e.id = a.execution_id"
        " WHERE a.tenant_id = %s AND a.number = 1 AND a.finished_at >= %s"
        " AND e.pool NOT LIKE 'pull.%%'"
    )
    return sorted(round(float(value), 3) for [value] in ask(sql, world.tenant.pk, since_of(world)))


def bound_of(delay: float) -> str:
    """Return the bucket of a start delay in words."""
    bound = next((bound for bound in BOUNDS if delay <= bound), None)
    if bound is None:
        return "> 60 s"
    return f"≤ {bound} ms" if bound < 1000 else f"≤ {bound // 1000} s"


def p95(world: World) -> str:
    """Return the bucket that holds the 95th percentile of the start delays."""
    found = delays(world)
    return bound_of(found[math.ceil(0.95 * len(found)) - 1])


def letters(world: World, condition: str = "NOT resolved", *parameters: Any) -> int:
    """Count dead letters of the tenant."""
    sql = "SELECT count(*) FROM dead_letters WHERE tenant_id = %s AND "
    return int(one(sql + condition, world.tenant.pk, *parameters))


def _late(world: World) -> int:
    condition = f"({_WAITS} OR status = 'QUEUED') AND due_at <= %s"
    return executions(world, condition, world.at - timedelta(seconds=1))


def _oldest(world: World, _: str | None) -> float:
    sql = "SELECT min(due_at) FROM executions WHERE tenant_id = %s"
    sql += f" AND ({_WAITS} OR status = 'QUEUED')"
    return float(one(sql, world.tenant.pk).timestamp())


def _success(world: World, _: str | None) -> str:
    good, bad = ended(world, "SUCCEEDED"), ended(world, "FAILED")
    return f"{100 * good / (good + bad):.1f} %".replace(".0 %", " %")


def _attempt(_: World, row: str | None) -> str:
    [[attempt, most, timeout]] = ask(
        "SELECT attempt, max_attempts, timeout_seconds FROM executions WHERE id = %s", row
    )
    return f"attempt {attempt} of {most}, at most {timeout:g} s"


def _paused(world: World, _: str | None) -> str:
    sql = "SELECT count(*) FROM tasks WHERE tenant_id = %s AND status = 'PAUSED'"
    return str(one(sql + " AND deleted_at IS NULL", world.tenant.pk))


def _standing(world: World, _: str | None) -> str:
    return str(one("SELECT count(*) FROM pauses WHERE tenant_id = %s", world.tenant.pk))


def _cause_tasks(world: World, row: str | None) -> str:
    sql = (
        "SELECT count(DISTINCT task_id) FROM dead_letters"
        " WHERE tenant_id = %s AND NOT resolved AND error_signature = %s"
    )
    return str(one(sql, world.tenant.pk, row))


def _causes(world: World, _: str | None) -> str:
    sql = "SELECT DISTINCT error_signature FROM dead_letters WHERE tenant_id = %s AND NOT resolved"
    return str(len(ask(sql, world.tenant.pk)))


def _try(_: World, row: str | None) -> str:
    sql = "SELECT attempt, max_attempts FROM executions WHERE id = %s AND status = 'RETRYING'"
    [[attempt, most]] = ask(sql, row)
    return f"retrying {attempt}/{most}"


def _cause_by_hour(world: World, row: str | None) -> str:
    sql = "SELECT created_at FROM dead_letters WHERE tenant_id = %s AND error_signature = %s"
    hours = [0] * 24
    for [created] in ask(sql, world.tenant.pk, row):
        back = int((world.at - created).total_seconds() // 3600)
        if 0 <= back < 24:
            hours[23 - back] += 1
    told = f"{sum(hours)} in all, {max(hours)} at most, {hours[-1]} last."
    return f"Dead letters per hour, last 24 hours: {told}"


def _letter_attempts(_: World, row: str | None) -> str:
    sql = (
        "SELECT count(*) FROM attempts WHERE execution_id ="
        " (SELECT execution_id FROM dead_letters WHERE id = %s)"
    )
    return str(one(sql, row))


def _destination(condition: str) -> Recount:
    return lambda world, row: str(executions(world, f"destination = %s AND {condition}", row))


def _calling(world: World, row: str | None) -> str:
    sql = (
        "SELECT count(*) FROM tasks WHERE tenant_id = %s AND destination = %s"
        " AND deleted_at IS NULL AND status NOT IN ('COMPLETED', 'FAILED', 'CANCELLED')"
    )
    return str(one(sql, world.tenant.pk, row))


def _limits_of(world: World, row: str | None) -> tuple[int | None, float | None]:
    sql = "SELECT max_in_flight, rate_per_second FROM destinations WHERE tenant_id = %s"
    return next(iter(ask(sql + " AND host = %s", world.tenant.pk, row)), (None, None))


def _in_flight(world: World, row: str | None) -> str:
    count = _destination("status = 'RUNNING' AND accepted_at IS NULL")(world, row)
    most = _limits_of(world, row)[0]
    return f"{count} of {most}" if most else count


def _limits(world: World, row: str | None) -> str:
    most, rate = _limits_of(world, row)
    parts = [f"{most} at a time" if most else "", f"{rate:g} a second" if rate else ""]
    return ", ".join(part for part in parts if part) or "none"


def _failed_calls(_: World, row: str | None) -> str:
    calls, failures = CALLS.get(str(row), (0, 0))
    return f"{failures} of {calls}" if calls else "–"


def _failed_share(_: World, row: str | None) -> str:
    calls, failures = CALLS.get(str(row), (0, 0))
    return f"{100 * failures / calls:.0f} %" if calls else "–"


def _heartbeat(world: World, row: str | None) -> dict[str, Any]:
    raw: Any = client().hget(WORKER_INFO_KEY, row or world.page_of)
    found: dict[str, Any] = orjson.loads(raw)
    return found


def _leased(world: World, row: str | None) -> str:
    said = _heartbeat(world, row)
    sql = "SELECT count(*) FROM executions WHERE tenant_id = %s AND pool = %s AND worker = %s"
    found = one(
        sql + " AND status IN ('QUEUED', 'RUNNING')", said["tenant"], said["pool"], said["name"]
    )
    return str(found)


def _in_flight_of_worker(world: World, row: str | None) -> str:
    said = _heartbeat(world, row)
    return _leased(world, row) if "tenant" in said else str(said["running"])


def _slots(world: World, row: str | None) -> str:
    said = _heartbeat(world, row)
    return f"{said['running']}/{said['slots']}"


def _held(world: World, row: str | None) -> str:
    said = _heartbeat(world, row)
    return "–" if "tenant" in said else str(said["held"])


def _cpu(world: World, row: str | None) -> str:
    said = _heartbeat(world, row).get("cpu_percent")
    return "–" if said is None else f"{said:.0f} %"


def _memory(world: World, row: str | None) -> str:
    said = _heartbeat(world, row).get("memory_bytes")
    return "–" if said is None else f"{said / 2**20:.1f} MB"


def _fleet(_: World, __: str | None) -> str:
    now = client().time()[0]
    used = slots = 0
    beats: Any = client().zrange(WORKERS_KEY, 0, -1, withscores=True)
    for name, beat in beats:
        raw: Any = client().hget(WORKER_INFO_KEY, name)
        said = orjson.loads(raw)
        if "tenant" not in said and now - beat < 60:
            used, slots = used + said["running"], slots + said["slots"]
    return f"{used} of {slots}"


def _partitions(_: World, row: str | None) -> str:
    return str(one("SELECT count(*) FROM partition_leases WHERE owner = %s", row))


def _unowned(_: World, __: str | None) -> str:
    owners = [owner for [owner] in ask("SELECT owner FROM partition_leases")]
    return f"{owners.count(None)} of {len(owners)}"


def _scheduler_heard(_: World, row: str | None) -> float:
    return float(one("SELECT heartbeat_at FROM scheduler_nodes WHERE id = %s", row).timestamp())


def _worker_heard(world: World, row: str | None) -> float:
    beat: Any = client().zscore(WORKERS_KEY, row or world.page_of)
    return float(beat)


def _recorder_heard(_: World, row: str | None) -> float:
    found = client().xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP)
    idle = next(one["idle"] for one in found if one["name"].decode() == row)
    seconds, micros = client().time()
    return float(seconds + micros / 1e6 - idle / 1000)


def _recorder_pending(_: World, row: str | None) -> str:
    found = client().xpending_range(OUTCOME_STREAM, OUTCOME_GROUP, "-", "+", 1000, row)
    return str(len(found))


#: Since when something is, whose age a page shows.
MOVING: dict[str, Callable[[World, str | None], float]] = {
    "overview.oldest_due_seconds": _oldest,
    "scheduler.silent_seconds": _scheduler_heard,
    "worker.silent_seconds": _worker_heard,
    "recorder.silent_seconds": _recorder_heard,
}
RECOUNTS: dict[str, Recount] = {
    "overview.due_now": lambda w, _: str(executions(w, f"{_WAITS} AND due_at <= %s", w.at)),
    "overview.running": lambda w, _: str(executions(w, "status = 'RUNNING'")),
    "overview.retrying": lambda w, _: str(executions(w, "status = 'RETRYING'")),
    "overview.late": lambda w, _: str(_late(w)),
    "overview.failed_last_hour": lambda w, _: str(ended(w, "FAILED")),
    "overview.success_rate": _success,
    "overview.p95": lambda w, _: p95(w),
    "overview.dead_letters_open": lambda w, _: str(letters(w)),
    "overview.paused_tasks": _paused,
    "overview.standing_pauses": _standing,
    "running.attempt": _attempt,
    "execution.try": _try,
    "cause.count": lambda w, row: str(letters(w, "NOT resolved AND error_signature = %s", row)),
    "cause.tasks": _cause_tasks,
    "cause.by_hour": _cause_by_hour,
    "letters.badge": lambda w, _: f"{letters(w)} open",
    "letters.total": lambda w, _: str(letters(w)),
    "letters.causes": _causes,
    "letter.attempts": _letter_attempts,
    "destination.failed": _failed_calls,
    "destination.in_flight": _in_flight,
    "destination.parked": _destination(f"{_WAITS} AND parked"),
    "destination.tasks": _calling,
    "destination.limits": _limits,
    "destination.more_tasks": lambda w, row: str(int(_calling(w, row)) - 20),
    "destination.failed_share": _failed_share,
    "destination.calls": lambda _, row: str(CALLS.get(str(row), (0, 0))[0]),
    "worker.leased": _leased,
    "worker.slots": _slots,
    "worker.in_flight": _in_flight_of_worker,
    "worker.capacity": lambda w, row: str(_heartbeat(w, row)["slots"]),
    "worker.held": _held,
    "worker.cpu_percent": _cpu,
    "worker.memory_bytes": _memory,
    "fleet.slots": _fleet,
    "scheduler.partitions": _partitions,
    "recorder.pending": _recorder_pending,
    "partitions.unowned": _unowned,
}
