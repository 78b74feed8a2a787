"""``up`` over hosts: the same plan, supervised from here, each process on a host of its own.

Started by the stand in place of ``manage.py up``. PostgreSQL and Valkey listen on TCP on hosts of
their own. The second scheduler, worker and recorder reach them through the proxies that the stand
names in ``HOSTS_LINKS``; where ``HOSTS_CLOCKS`` names a directory, every process but the servers
has the clock of a file in it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from bench.chaos import clock_files
from bench.chaos.hosts import NETWORK, POSTGRESQL, PROCESSES, VALKEY, Host
from launcher import local_state
from launcher.console import Console
from launcher.embedded import EmbeddedServer, place_servers
from launcher.embedded_postgres import DATABASE, EmbeddedPostgres
from launcher.embedded_valkey import EmbeddedValkey
from launcher.plan import (
    DRAIN_ORDER,
    fork_environment,
    make_stages,
    read_options,
)
from launcher.privileges import Account, write_file
from launcher.run_lock import RunLock
from launcher.spawning import ProcessSpec, Spawner
from launcher.supervisor import Stage, Supervisor
from launcher.up import Runtime

LINKS, CLOCKS = "HOSTS_LINKS", "HOSTS_CLOCKS"
#: Twelve processes begin at once, on any machine.
_START_SECONDS = 150.0
POSTGRESQL_PORT, VALKEY_PORT = 5432, 6379
_HBA = f"""\
local all all scram-sha-256
host all all {NETWORK}.0/24 scram-sha-256
"""


class HostPostgres(EmbeddedPostgres):
    """The embedded PostgreSQL on a host of its own, reached by TCP."""

    def _url(self, role: str, password: str) -> str:
        word = quote(password, safe="")
        address = f"{POSTGRESQL.address}:{POSTGRESQL_PORT}"
        return f"postgresql://{role}:{word}@{address}/{DATABASE}"

    def prepare(self) -> None:
        """Prepare as ever, then let the hosts in."""
        super().prepare()
        write_file(self.data / "pg_hba.conf", _HBA, self.placement.account)

    def process(self) -> ProcessSpec:
        """Listen on the host."""
        spec = super().process()
        listening = ("-c", f"listen_addresses={POSTGRESQL.address}")
        return _server_on(POSTGRESQL, spec, *listening)


class HostValkey(EmbeddedValkey):
    """The embedded Valkey on a host of its own, reached by TCP."""

    @property
    def url(self) -> str:
        """Return the address on the host."""
        word = quote(self._password, safe="")
        return f"redis://:{word}@{VALKEY.address}:{VALKEY_PORT}/0"

    def process(self) -> ProcessSpec:
        """Listen on the host."""
        listening = ("--port", str(VALKEY_PORT), "--bind", VALKEY.address)
        return _server_on(VALKEY, super().process(), *listening)


def _server_on(host: Host, spec: ProcessSpec, *more: str) -> ProcessSpec:
    """Enter the host as root; only then become the server's account."""
    argv = host.command(*_as_account(spec.account, spec), *spec.argv, *more)
    return replace(spec, argv=argv, account=None)


def _as_account(account: Account | None, spec: ProcessSpec) -> tuple[str, ...]:
    if account is None:
        return ()
    who = (f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups")
    return ("setpriv", *who, f"--pdeathsig={spec.death_signal.name.removeprefix('SIG')}")


def on_hosts(stages: list[Stage], links: dict[str, str], clocks: Path | None) -> list[Stage]:
    """Return the stages with every process on its host, and a second web server."""
    return [
        replace(
            stage,
            processes=list(_placed(stage.processes, links, clocks)),
            timeout_seconds=max(stage.timeout_seconds, _START_SECONDS),
        )
        for stage in stages
    ]


def _placed(
    specs: Sequence[ProcessSpec], links: dict[str, str], clocks: Path | None
) -> Iterator[ProcessSpec]:
    for spec in specs:
        if spec.name not in PROCESSES:
            yield spec
            continue
        yield _on_host(spec, links, clocks)
        if spec.kind == "web":
            other = {**spec.environment, "PROCESS_NAME": "web-2"}
            yield _on_host(replace(spec, name="web-2", environment=other), links, clocks)


def by_proxy(name: str) -> bool:
    """Return whether a process reaches the servers through the proxies."""
    return name.endswith("2") and not name.startswith("web")


def _on_host(spec: ProcessSpec, links: dict[str, str], clocks: Path | None) -> ProcessSpec:
    host = PROCESSES[spec.name]
    known = dict(spec.environment)
    if spec.kind == "web":
        known["HOST"] = host.address
    if by_proxy(spec.name):
        for variable in ("DATABASE_URL", "REDIS_URL"):
            for direct, link in links.items():
                known[variable] = known[variable].replace(direct, link)
    if clocks is not None:
        known |= clock_files.environment(clocks / clock_files.LIBRARY, clocks / spec.name)
    # Another program enters the host first, and the fork server stands on none.
    return replace(spec, argv=host.command(*spec.argv), environment=known, forked=False)


def main() -> None:
    """Run everything until SIGTERM."""
    options = read_options()
    links = json.loads(os.environ.get(LINKS, "{}"))
    folder = os.environ.get(CLOCKS)
    console = Console(sys.stderr)
    with RunLock(options.data_dir):
        placement = place_servers(options.data_dir)
        secrets = local_state.ensure_secrets(options.data_dir)
        servers: dict[str, EmbeddedServer] = {
            "postgresql": HostPostgres(placement, secrets),
            "valkey": HostValkey(placement, secrets),
        }
        for server in servers.values():
            server.prepare()
        stages = on_hosts(make_stages(options, servers), links, Path(folder) if folder else None)
        spawner = Spawner(fork_environment())
        supervisor = Supervisor(stages, DRAIN_ORDER, console.log, spawner=spawner)
        runtime = Runtime(options, servers, supervisor)
        supervisor.changed = runtime.write
        runtime.write()
        try:
            asyncio.run(supervisor.run())
        finally:
            console.close()


if __name__ == "__main__":
    main()
