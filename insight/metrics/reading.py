"""Read the metrics of the whole installation from PostgreSQL and Redis, in any process.

Totals were counted with what they count (:mod:`executions.ledger.totals`) or in Redis; gauges are
read when asked. No read scans: each is an index, a small table, or ends at a bound.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import redis
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import InterfaceError, OperationalError

from executions.dispatch import circuits
from executions.ledger import totals
from executions.loop import refusals
from insight.metrics.catalogue import BY_NAME
from insight.metrics.metric import Metric
from insight.statistics import fleet
from shared import clock_watch, tenant_scope, web_counts
from shared.conf import conf
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, ConnectionFailed, client
from shared.sql import rows
from shared.tenant_scope import Purpose
from shared.tracing import sending
from tasks.definition import (
    COMMAND_TARGET_DEFAULTS,
    HANDLER_TARGET_DEFAULTS,
    WEBHOOK_POOL,
    WORKFLOW_POOL,
)
from wire import heartbeats

log = logging.getLogger(__name__)

SOURCE_UP = "punctual_source_up"
#: Counts of open work end here: a backlog must not make the scrape slow.
MOST_COUNTED = 50_000
#: Dead letters of each tenant, and of all.
_LETTERS_COUNTED = {"most": 10_000, "of_all": 50_000}
#: Pools that are looked through for due work, and executions that are counted in each.
_POOLS_COUNTED = {"pools": 200, "most": 1_000}
#: API keys in use that end within these days.
_KEYS_COUNTED = {"days": 7, "idle": 30, "most": 1_000}
#: Pools that tasks name, and no worker of the last day has.
_OTHER = "other"
#: The pools that tasks have unless they name another one.
_OWN_POOLS: tuple[str, ...] = (
    WEBHOOK_POOL,
    HANDLER_TARGET_DEFAULTS["pool"],
    COMMAND_TARGET_DEFAULTS["pool"],
)
_PULL = "pull"


@dataclass(frozen=True, slots=True)
class Histogram:
    """The observations of each bucket, without those of lower ones, and their sum in seconds."""

    counts: tuple[int, ...]
    total: float


class Sample(NamedTuple):
    """A value of a metric, by the values of its labels."""

    metric: str
    labels: tuple[str, ...]
    value: float | Histogram


Source = Callable[[], Iterator[Sample]]
Servers = tuple[str, ...]
POSTGRESQL, REDIS = "postgresql", "redis"


def read(sources: Mapping[Source, Servers]) -> list[Sample]:
    """Return the samples of these readers, each with the servers that it asks.

    A server that is away is told by ``punctual_source_up``, and its samples are missing: what was
    read last is not the state of now. It is not asked again: each question would wait.
    """
    found: list[Sample] = []
    up = {server: True for servers in sources.values() for server in servers}
    away: set[str] = set()
    for source, servers in sources.items():
        if away.intersection(servers):
            continue
        try:
            with tenant_scope.across(Purpose.METRICS):
                found += list(source())
        except (DatabaseError, redis.RedisError, *ConnectionFailed) as error:
            log.warning(
                "metrics.not_read",
                extra={"part": source.__name__, "reason": type(error).__name__},
            )
            server = POSTGRESQL if isinstance(error, DatabaseError) else REDIS
            up[server] = False
            if isinstance(error, (OperationalError, InterfaceError, *ConnectionFailed)):
                away.add(server)
    found += [Sample(SOURCE_UP, (server,), float(is_up)) for server, is_up in up.items()]
    return found


def counted() -> Iterator[Sample]:
    """Yield the totals that the ledger counts."""
    found = totals.read()
    executed = {
        (kind, status): found.get(f"ended/{stored}/{status}", 0)
        for kind, stored in (("task", "task"), ("workflow", "run"))
        for status in ("succeeded", "failed")
    }
    for labels, number in executed.items():
        yield Sample("tasks_executed_total", labels, number)
    for kind in ("task", "workflow"):
        yield Sample("tasks_failed_total", (kind,), executed[kind, "failed"])
    for metric, prefix in _COUNTED.items():
        yield from _with_known(BY_NAME[metric], prefix, found)
    for metric, prefix in _OBSERVED.items():
        yield Sample(metric, (), _histogram(prefix, BY_NAME[metric], found))


#: Metric -> the prefix of its series among the totals, before the values of its labels.
_COUNTED = {
    "tasks_scheduled_total": "scheduled",
    "punctual_attempts_total": "attempts",
    "punctual_retries_total": totals.RETRIES,
    "punctual_steps_total": "ended/step",
    "punctual_workflow_runs_total": "ended/run",
    "punctual_missed_total": "missed",
    "punctual_own_faults_total": "own_faults",
    "punctual_lease_expiries_total": "lease_expiries",
    "punctual_dead_letters_total": totals.DEAD_LETTERS,
    "punctual_alert_deliveries_total": "deliveries",
}
_OBSERVED = {
    "execution_delay_seconds": "delay",
    "punctual_waiting_seconds": "waiting",
    "punctual_attempt_duration_seconds": "duration",
}


def _with_known(metric: Metric, prefix: str, found: Mapping[str, int]) -> Iterator[Sample]:
    known = metric.known or {}
    for labels in product(*(known[label] for label in metric.labels)):
        yield Sample(metric.name, labels, found.get("/".join((prefix, *labels)), 0))


def _histogram(prefix: str, metric: Metric, found: Mapping[str, int]) -> Histogram:
    places = range(len(metric.bounds_ms) + 1)
    counts = tuple(found.get(f"{prefix}/{place}", 0) for place in places)
    return Histogram(counts, found.get(f"{prefix}/sum", 0) / 1e6)


def waiting_work() -> Iterator[Sample]:
    """Yield how much work is due and how long the oldest has waited."""
    asked = {"most": MOST_COUNTED}
    due, parked, queued, running, pulled, oldest = rows("metric_reads/queue", asked)[0]
    for stage, number in (("due", due), ("parked", parked), ("queued", queued)):
        yield Sample("queue_depth", (stage,), number)
    yield Sample("punctual_executions_running", (), running)
    yield Sample("punctual_pull_queue_depth", (), pulled)
    yield Sample("punctual_oldest_due_seconds", (), oldest or 0.0)


def partitions() -> Iterator[Sample]:
    """Yield who owns the partitions, and how many schedulers live."""
    asked = {"ttl": conf().partition_lease_seconds}
    unowned, longest, every, schedulers = rows("metric_reads/partitions", asked)[0]
    yield Sample("punctual_partitions", ("owned",), every - unowned)
    yield Sample("punctual_partitions", ("unowned",), unowned)
    yield Sample("punctual_partition_unowned_seconds", (), longest)
    yield Sample("punctual_schedulers", (), schedulers)


def backlogs() -> Iterator[Sample]:
    """Yield open dead letters, runs in flight, the oldest snapshot and keys that end soon."""
    letters = rows("metric_reads/open_letters", _LETTERS_COUNTED)[0][0]
    yield Sample("punctual_dead_letters_open", (), letters)
    open_runs = rows("metric_reads/open_runs", {"most": MOST_COUNTED})[0][0]
    yield Sample("punctual_workflow_runs_open", (), open_runs)
    snapshot = rows("metric_reads/oldest_snapshot")[0][0]
    yield Sample("punctual_database_snapshot_seconds", (), max(0.0, snapshot))
    keys = rows("metric_reads/ending_keys", _KEYS_COUNTED)[0][0]
    yield Sample("punctual_api_keys_ending", (), keys)


def lag_of_tenants() -> Iterator[Sample]:
    """Yield the most delayed tenants, if the operator asks for them, and the worst of the others.

    Ids, never names: a name is a tenant's text.
    """
    most = conf().metrics_tenants
    if not most:
        return
    found = rows("metric_reads/lag_of_tenants", {"most": MOST_COUNTED})
    for tenant_id, seconds in found[:most]:
        yield Sample("punctual_tenant_lag_seconds", (tenant_id,), seconds)
    others = max((seconds for _, seconds in found[most:]), default=0.0)
    yield Sample("punctual_tenant_lag_seconds", ("other",), others)


def workers() -> Iterator[Sample]:
    """Yield workers, slots and their use by pool; the workers of tenants are one pool."""
    states: Counter[tuple[str, str]] = Counter()
    slots: Counter[str] = Counter()
    running: Counter[str] = Counter()
    certificates: list[float] = []
    for worker in heartbeats.everyone():
        is_own = worker.tenant is None
        pool = worker.pool if is_own else _PULL
        states[pool, worker.state] += 1
        ends_at = worker.details.get("certificate_ends_at")
        if is_own and worker.live and ends_at is not None:
            certificates.append(ends_at)
        if is_own and worker.takes_work:
            slots[pool] += worker.slots
            running[pool] += int(worker.details.get("running", 0))
    for labels, number in states.items():
        yield Sample("punctual_workers", labels, number)
    for pool, number in slots.items():
        yield Sample("punctual_worker_slots", (pool,), number)
        yield Sample("worker_utilization", (pool,), running[pool] / number if number else 0.0)
    if certificates:
        yield Sample("punctual_client_certificate_end_timestamp_seconds", (), min(certificates))


def work_without_worker() -> Iterator[Sample]:
    """Yield the due work of pools without a worker that takes work, zero for those that have one.

    A task may name any pool, so that a name is a tenant's text until a worker has it.
    """
    own = [worker for worker in heartbeats.everyone() if worker.tenant is None]
    served = {worker.pool for worker in own if worker.takes_work}
    numbers = dict.fromkeys({*_OWN_POOLS, _OTHER, *(worker.pool for worker in own)}, 0)
    asked = {**_POOLS_COUNTED, "served": [*served, WORKFLOW_POOL]}
    for pool, number in rows("metric_reads/due_without_worker", asked):
        numbers[pool if pool in numbers else _OTHER] += number
    for pool, number in sorted(numbers.items()):
        yield Sample("punctual_due_without_worker", (pool,), number)


def outcome_stream() -> Iterator[Sample]:
    """Yield recorders, and what waits for them."""
    yield Sample("punctual_recorders", (), sum(one.live for one in fleet.recorders()))
    try:
        groups = client().xinfo_groups(OUTCOME_STREAM)
    except redis.ResponseError:
        groups = []  # no recorder has ever read from this server
    names = (OUTCOME_GROUP, OUTCOME_GROUP.encode())
    unwritten = sum(group["pending"] for group in groups if group["name"] in names)
    length = client().xlen(OUTCOME_STREAM)
    yield Sample("punctual_outcomes_waiting", ("unread",), max(0, length - unwritten))
    yield Sample("punctual_outcomes_waiting", ("unwritten",), unwritten)
    yield Sample("punctual_outcome_lag_seconds", (), _oldest_outcome_seconds())


def _oldest_outcome_seconds() -> float:
    oldest = client().xrange(OUTCOME_STREAM, count=1)
    if not oldest:
        return 0.0
    # Recorded entries leave the stream, and an entry's id begins with its millisecond.
    entry = oldest[0][0] or b"0"
    added = int((entry.decode() if isinstance(entry, bytes) else entry).partition("-")[0]) / 1000
    seconds, micros = client().time()
    return max(0.0, seconds + micros / 1e6 - added)


def guards() -> Iterator[Sample]:
    """Yield refused writes, circuits, and how far clocks are apart."""
    for kind, number in refusals.read().items():
        yield Sample("punctual_refused_writes_total", (kind,), number)
    found = Counter(circuit.state for circuit in circuits.standing((), lately=True).values())
    for state in ("open", "half_open"):
        yield Sample("punctual_circuits", (state,), found[state])
    worst = max((abs(skew.seconds) for skew in clock_watch.skews()), default=0.0)
    yield Sample("punctual_clock_skew_seconds", (), worst)


def requests() -> Iterator[Sample]:
    """Yield the requests that web processes have answered."""
    found = web_counts.read()
    for name, number in found.items():
        if name[0] == "requests":
            yield Sample("punctual_http_requests_total", name[1:], number)
    places: Sequence[str] = [str(place) for place in range(len(web_counts.BOUNDS_MS) + 1)]
    for area in web_counts.AREAS:
        counts = tuple(found.get(("seconds", area, place), 0) for place in places)
        spent = found.get(("seconds", area, "sum"), 0) / 1e6
        yield Sample("punctual_http_request_duration_seconds", (area,), Histogram(counts, spent))


def spans() -> Iterator[Sample]:
    """Yield what became of the spans of recorded traces."""
    for result, number in sending.read_counts().items():
        yield Sample("punctual_spans_total", (result,), number)


def version() -> Sample:
    """Return which version answers."""
    return Sample("punctual_build_info", (str(settings.SPECTACULAR_SETTINGS["VERSION"]),), 1.0)


#: Reader -> the servers that it asks; what is read with each scrape.
QUICK: Mapping[Source, Servers] = {
    counted: (POSTGRESQL,),
    waiting_work: (POSTGRESQL,),
    partitions: (POSTGRESQL,),
    lag_of_tenants: (POSTGRESQL,),
    workers: (REDIS,),
    outcome_stream: (REDIS,),
    guards: (REDIS,),
    requests: (REDIS,),
    spans: (REDIS,),
}
#: What is read every few seconds only.
SLOW: Mapping[Source, Servers] = {
    backlogs: (POSTGRESQL,),
    work_without_worker: (REDIS, POSTGRESQL),
}
