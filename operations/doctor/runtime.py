"""Checks of a running installation: processes, partitions, workers, recorders, clocks, delay."""

from __future__ import annotations

import time
from collections.abc import Callable

import redis

from executions.loop.clocks import database_now
from executions.ownership import fence
from launcher import local_state
from launcher.run_lock import holder
from operations.doctor.finding import Finding, bad, good, odd, of_tenants
from shared.clock_watch import TOLERATED_SECONDS, skews
from shared.conf import conf
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client
from shared.sql import rows
from wire import heartbeats

_SAMPLES = 5
#: A recorder asks at least every two seconds, and writes its largest batch in less.
_RECORDER_SILENT_SECONDS = 10.0
_LAG_ENTRIES = 1000
OUTCOME_STUCK_SECONDS = 10.0
_LATE_SECONDS, _VERY_LATE_SECONDS = 5.0, 60.0


def processes() -> Finding:
    """Check the processes that the supervisor started on this data directory."""
    directory = local_state.data_dir()
    pid = holder(directory)
    if pid is None:
        return good("processes", f"`up` does not run on the data directory {directory}")
    listed = local_state.load_runtime(directory).get("processes", [])
    down = [entry["name"] for entry in listed if entry["pid"] is None]
    restarted = [f"{entry['name']} {entry['restarts']}" for entry in listed if entry["restarts"]]
    remedy = "Read the lines of these processes in the output of `up`."
    if down:
        return bad("processes", f"being started again: {', '.join(down)}", remedy)
    if restarted:
        return odd("processes", f"restarts: {', '.join(restarted)}", remedy)
    return good("processes", f"{len(listed)} under `up` (pid {pid}), none restarted")


def schedulers() -> Finding:
    """Check that a scheduler lives."""
    ttl = conf().partition_lease_seconds
    count = rows("status/live_schedulers", {"ttl": ttl})[0][0]
    if not count:
        return bad("schedulers", "none lives", "Start `manage.py run_scheduler` or `up`.")
    return good("schedulers", f"{count} live")


def partitions() -> Finding:
    """Check that every partition has an owner; tasks of a partition without one do not run."""
    if fence.holds():
        evidence = "all are held back since the database was restored; nothing runs"
        return bad("partitions", evidence, "See what would run: `manage.py restore --confirm`.")
    owned, total = rows("leases/has_live_scheduler")[0]
    evidence = f"{owned} of {total} owned"
    if owned < total:
        seconds = conf().partition_lease_seconds
        remedy = f"They move within {seconds:g} s where a scheduler lives; look again then."
        return bad("partitions", evidence, remedy)
    return good("partitions", evidence)


def workers() -> Finding:
    """Check that a worker takes work, and that none is lost."""
    known = heartbeats.workers()
    taking = [worker for worker in known if worker.takes_work]
    # A worker that stopped in order has deregistered; a lost one is forgotten after a day.
    lost = [worker.id for worker in known if not worker.live]
    if not taking:
        if any(worker.state == "quiet" for worker in known):
            return bad("workers", "all are quiet", "Let them work: `manage.py workers resume`.")
        return bad("workers", "none takes work", "Start `manage.py run_worker` or `up`.")
    slots = sum(worker.slots for worker in taking)
    evidence = f"{len(taking)} live, {slots} slots"
    if quiet := sum(worker.state == "quiet" for worker in known):
        evidence = f"{evidence}; {quiet} quiet"
    if lost:
        remedy = "Their work was taken back. They are forgotten after a day."
        return odd("workers", f"{evidence}; fell silent: {', '.join(lost[:5])}", remedy)
    return good("workers", evidence)


def recorders() -> Finding:
    """Check that outcomes are being written, and how many wait."""
    live = live_recorders()
    if not live:
        return bad("recorders", "none lives", "Start `manage.py run_recorder` or `up`.")
    groups = client().xinfo_groups(OUTCOME_STREAM)
    group = next(found for found in groups if _text(found["name"]) == OUTCOME_GROUP)
    # Valkey does not know the lag while entries were deleted out of order.
    lag = group.get("lag")
    waiting = client().xlen(OUTCOME_STREAM) - group["pending"] if lag is None else lag
    evidence = f"{live} live; entries waiting: {waiting}, being written: {group['pending']}"
    seconds = oldest_outcome_seconds()
    if seconds > OUTCOME_STUCK_SECONDS:
        remedy = "Recorders read them but cannot write: read the recorders' lines in the log."
        return bad("recorders", f"{evidence}; the oldest is {seconds:.0f} s old", remedy)
    if waiting > _LAG_ENTRIES:
        return odd("recorders", evidence, "Raise RECORDERS, or see what slows the database.")
    return good("recorders", evidence)


def oldest_outcome_seconds() -> float:
    """Return the age of the oldest outcome that is not written yet; 0 when there is none."""
    entries = client().xrange(OUTCOME_STREAM, count=1)
    if not entries:
        return 0.0
    # Recorded entries leave the stream, and an entry's id begins with its millisecond.
    added = int(_text(entries[0][0] or b"0").partition("-")[0]) / 1000
    return max(0.0, _redis_time() - added)


def live_recorders() -> int:
    """Return how many recorders have asked for outcomes within the last seconds."""
    try:
        consumers = client().xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP)
    except redis.ResponseError:
        # No stream or no group: no recorder has ever asked this server.
        return 0
    return sum(consumer["idle"] < _RECORDER_SILENT_SECONDS * 1000 for consumer in consumers)


def oldest_due() -> Finding:
    """Check how long the oldest due execution has waited for a worker of the installation."""
    found = rows("doctor/oldest_due")
    if not found:
        return good("oldest due", "nothing waits")
    status, execution, seconds = found[0]
    evidence = f"{execution} ({status}) is due since {seconds:.1f} s"
    remedy = "See the checks of schedulers, workers and recorders; raise WORKERS under load."
    if seconds > _VERY_LATE_SECONDS:
        return bad("oldest due", evidence, remedy)
    if seconds > _LATE_SECONDS:
        return odd("oldest due", evidence, remedy)
    return good("oldest due", evidence)


def pull_pools() -> Finding:
    """Report the work that waits for the tenants' own workers; it is never a fault here."""
    count, pools, seconds = rows("doctor/pull_pools")[0]
    if not count:
        return of_tenants("pull pools", "nothing waits to be leased")
    where = "1 pool" if pools == 1 else f"{pools} pools"
    evidence = f"{_waiting(count)} in {where} for the tenants' own workers"
    return of_tenants("pull pools", f"{evidence}, the oldest since {seconds:.0f} s")


def destinations() -> Finding:
    """Report the work that waits for limits and circuits of destinations; never a fault here."""
    count, hosts, seconds = rows("doctor/parked")[0]
    if not count:
        return of_tenants("destinations", "nothing waits for a destination")
    where = "1 destination" if hosts == 1 else f"{hosts} destinations"
    evidence = f"{_waiting(count)} for limits or circuits of {where}"
    return of_tenants("destinations", f"{evidence}, the oldest since {seconds:.0f} s")


def _waiting(count: int) -> str:
    return "1 execution waits" if count == 1 else f"{count} executions wait"


def clocks() -> Finding:
    """Check that the clocks of host, database, Redis and every process agree."""
    offsets = {"database": _offset(_database_time), "Redis": _offset(_redis_time)}
    evidence = ", ".join(f"{name} {value * 1000:+.1f} ms" for name, value in offsets.items())
    evidence += " against this host"
    off = skews()
    evidence += "".join(f"; {skew}" for skew in off)
    spread = max(0.0, *offsets.values()) - min(0.0, *offsets.values())
    if off or spread > TOLERATED_SECONDS:
        return odd("clocks", evidence, "Keep every machine's clock by NTP (chrony).")
    return good("clocks", evidence)


def _offset(ask: Callable[[], float]) -> float:
    """Return the server's time minus the host's, from the fastest of several calls."""
    samples = []
    for _ in range(_SAMPLES):
        before = time.time()
        there = ask()
        after = time.time()
        samples.append((after - before, there - (before + after) / 2))
    return min(samples)[1]


def _database_time() -> float:
    return database_now().timestamp()


def _redis_time() -> float:
    seconds, micros = client().time()
    return float(seconds + micros / 1e6)


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
