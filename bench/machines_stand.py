"""Punctual over machines: PostgreSQL and Valkey on hosts of their own, ``manage.py up`` on each.

The machines share nothing but the two servers and the secrets that they are given by environment:
each has an address, a host name and a data directory of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import psycopg
import redis

from bench import installation
from bench.chaos.hosts import NETWORK
from bench.chaos.hosts_up import HostPostgres, HostValkey
from bench.machines_quota import Quota, quota
from bench.machines_up import MACHINES
from bench.peers.contender import CouldNotRunError, Recorded
from bench.peers.plan import Plan
from bench.peers.punctual import Punctual
from bench.processes import descendants
from launcher import local_state
from launcher.embedded import EmbeddedError, EmbeddedServer, place_servers
from launcher.privileges import PrivilegeError
from launcher.spawning import spawn_options
from operations.proof.oracle import to_text
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM

SCHEDULER, WORKER = "scheduler", "worker"
_STOP_SECONDS = 30.0
_BY_WORKER = """
SELECT worker, count(*) FROM executions
WHERE scheduled_for BETWEEN %s::timestamptz AND %s::timestamptz GROUP BY worker
"""
#: By the owner of the partition: partitions change hands only when a scheduler comes or goes.
_BY_SCHEDULER = """
SELECT node.name, count(*) FROM executions AS execution
JOIN partition_leases AS lease USING (partition)
JOIN scheduler_nodes AS node ON node.id = lease.owner
WHERE execution.scheduled_for BETWEEN %s::timestamptz AND %s::timestamptz GROUP BY node.name
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A running machine and its share of the processor, where it has one."""

    name: str
    product: installation.Installation
    quota: Quota | None


class Machines(Punctual):
    """``count`` machines; ``cores`` is the processor share of each, None for all there is."""

    #: Created by the web server of the first machine, beside all else that runs here.
    pace = 1000.0

    def __init__(self, count: int, cores: float | None = None) -> None:
        super().__init__()
        self._count = count
        self._cores = cores
        self._machines: list[Machine] = []
        self._servers: dict[int, str] = {}
        #: Kind -> machine -> executions of the last plan.
        self.shares: dict[str, dict[str, int]] = {}
        #: The machines whose recorder has had some of them.
        self.recorders: list[str] = []
        #: Whether the processor was shared out as asked.
        self.shared_out = False

    def start(self, scratch: Path) -> None:
        """Start the servers, then one machine after the other; the hosts have to be there."""
        secrets = local_state.ensure_secrets(scratch / "secrets")
        try:
            placement = place_servers(scratch / "servers")
            # Neither has to be within the scratch directory.
            for directory in (placement.base, placement.sockets):
                self._stack.callback(shutil.rmtree, directory, ignore_errors=True)
            self._postgres = HostPostgres(placement, secrets)
            self._valkey = HostValkey(placement, secrets)
            for server in (self._postgres, self._valkey):
                process = self._stack.enter_context(_running(server))
                self._servers[process.pid] = server.kind
        except (EmbeddedError, PrivilegeError) as error:
            raise CouldNotRunError(str(error)) from error
        given = {
            "DATABASE_URL": self._postgres.url,
            "REDIS_URL": self._valkey.url,
            "SECRET_KEY": secrets["secret_key"],
            "ENCRYPTION_KEYS": secrets["encryption_keys"],
            "AUDIT_KEYS": secrets["audit_keys"],
            "VAPID_PRIVATE_KEY": secrets["vapid_private_key"],
            "WEBHOOK_ALLOWED_NETWORKS": f"{NETWORK}.0/24",
        }
        for name in list(MACHINES)[: self._count]:
            started = self._machine(name, {**given, "DATA_DIR": str(scratch / name)})
            self._machines.append(started)
            given["BOOTSTRAP_API_KEY"] = started.product.api_key
        self.shared_out = bool(self._cores) and all(one.quota for one in self._machines)
        self._product = self._machines[0].product
        self.look()

    def _machine(self, name: str, given: dict[str, str]) -> Machine:
        # Entered first, so left behind the processes that it holds.
        group = self._stack.enter_context(quota(name))
        address = MACHINES[name].address
        product = self._stack.enter_context(
            installation.started(
                ("-m", "bench.machines_up", name),
                keep=False,
                HOST=address,
                ALLOWED_HOSTS=address,
                **given,
            )
        )
        if group is not None and product.supervisor is not None:
            group.take(descendants(product.supervisor))
        return Machine(name, product, group)

    def look(self) -> None:
        """See what runs, and open a session."""
        super().look()
        self._kinds = dict(self._servers)
        for machine in self._machines:
            for pid, kind in machine.product.kinds().items():
                self._kinds[pid] = f"{kind}@{machine.name}"

    def session(self) -> psycopg.Connection[Any]:
        """Return a session of the database; psycopg.Error when it is away."""
        return psycopg.connect(self._postgres.url, autocommit=True)

    def schedule(self, plan: Plan) -> None:
        """Create the plan with all that the processor gives, and share it out afterwards."""
        groups = [one.quota for one in self._machines if one.quota and self.shared_out]
        for group in groups:
            group.free()
        super().schedule(plan)
        for group in groups:
            group.limit(self._cores or 1.0)

    def recorded(self, plan: Plan) -> Recorded:
        """Wait as ever; then note which machine has done what."""
        found = super().recorded(plan)
        bounds = tuple(to_text(plan.due_ms(number)) for number in (0, plan.count - 1))
        with self.session() as session:
            self.shares = {
                kind: by_machine(dict(session.execute(statement.encode(), bounds).fetchall()))
                for kind, statement in ((SCHEDULER, _BY_SCHEDULER), (WORKER, _BY_WORKER))
            }
        self.recorders = active_since(plan.at_ms, time.time_ns() // 1_000_000, self._consumers())
        return found

    def _consumers(self) -> list[dict[str, Any]]:
        with redis.Redis.from_url(self._valkey.url) as client:
            return cast(list[dict[str, Any]], client.xinfo_consumers(OUTCOME_STREAM, OUTCOME_GROUP))


def by_machine(by_name: dict[str, int]) -> dict[str, int]:
    """Return the sums by machine of names such as ``worker-1@machine-1:4711-a``."""
    found: dict[str, int] = {}
    for name, count in by_name.items():
        machine = name.partition("@")[2].partition(":")[0]
        found[machine] = found.get(machine, 0) + count
    return found


def active_since(since_ms: int, now_ms: int, consumers: Iterable[dict[str, Any]]) -> list[str]:
    """Return the machines whose recorder has read an entry of the stream since a moment."""
    names = [str(one["name"], "utf-8") for one in consumers if one["inactive"] < now_ms - since_ms]
    return sorted(by_machine(dict.fromkeys(names, 1)))


@contextmanager
def _running(server: EmbeddedServer) -> Iterator[subprocess.Popen[bytes]]:
    server.prepare()
    spec = server.process()
    process = subprocess.Popen(
        spec.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **spawn_options(spec)
    )
    try:
        server.wait_ready()
        yield process
    finally:
        process.send_signal(spec.stop_signal)
        installation.stop(process, _STOP_SECONDS)
