"""The stand whose processes run on hosts of their own: cut, slow or lossy links, clocks set wrong.

The first of each kind reaches PostgreSQL, Valkey and receivers over the bridge; the second reaches
the two servers through proxies. Workers reach receivers through a proxy on this machine, whose own
address a cut can leave out.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bench import installation
from bench.chaos import clock_files, hosts
from bench.chaos.hosts import POSTGRESQL, PROCESSES, PROXIES, RECEIVERS, VALKEY
from bench.chaos.hosts_up import CLOCKS, LINKS, POSTGRESQL_PORT, VALKEY_PORT
from bench.chaos.site import Site
from bench.chaos.tcp_proxy import Links, Weather, links
from launcher import local_state

_COMMAND = ("-m", "bench.chaos.hosts_up")


@dataclass(frozen=True, slots=True)
class HostsSite(Site):
    """An installation over hosts."""

    links: Links
    #: Where the clock files are, in the stand with clocks.
    clocks: Path | None = None
    _opened: dict[int, str] = field(default_factory=dict)

    def reachable(self, receiver_url: str) -> str:
        """Return the address of a link to the receiver, on the receivers' host."""
        parts = urlsplit(receiver_url)
        port = parts.port or 80
        if port not in self._opened:
            link = self.links.open((parts.hostname or "127.0.0.1", port), RECEIVERS.address)
            self._opened[port] = f"http://{RECEIVERS.address}:{link.port}{parts.path}"
        return self._opened[port]

    def pid(self, name: str) -> int:
        """Return the process that runs under a name now; LookupError while it is away."""
        for process in local_state.load_runtime(self.data_dir).get("processes", []):
            if process["name"] == name and process["pid"] is not None:
                return int(process["pid"])
        raise LookupError(f"{name} does not run")

    def pid_or_none(self, name: str) -> int | None:
        """Return the process that runs under a name now, None while it is away."""
        try:
            return self.pid(name)
        except LookupError:
            return None

    def weather(self, name: str, weather: Weather) -> None:
        """Set the weather of every link of a second process."""
        self.links.set(PROCESSES[name].address, weather)

    def clock(self, name: str, offset_seconds: float = 0.0, gain: float = 0.0) -> None:
        """Set a process's clock."""
        if self.clocks is None:
            raise LookupError("this stand has no clocks")
        clock_files.write(self.clocks / name, offset_seconds, gain)

    def connections(self, name: str, server: hosts.Host) -> set[int]:
        """Return the local ports of the connections that a process takes to be open."""
        found = hosts.addresses_in_use(self.pid(name))
        return {port for port, address in found if address == server.address}


@contextmanager
def spread() -> Iterator[HostsSite]:
    """Start the installation over hosts."""
    with _started() as site:
        yield site


@contextmanager
def spread_with_clocks() -> Iterator[HostsSite]:
    """Start the installation over hosts, with a clock to set for each process."""
    folder = Path(tempfile.mkdtemp(prefix="punctual-clocks-"))
    # The processes read them, as an account of their own.
    folder.chmod(0o711)
    try:
        clock_files.build(folder)
        for name in PROCESSES:
            clock_files.write(folder / name)
        with _started(folder) as site:
            yield site
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _started(clocks: Path | None = None) -> Iterator[HostsSite]:
    with hosts.network(), links() as opened:
        named = {}
        for server, port in ((POSTGRESQL, POSTGRESQL_PORT), (VALKEY, VALKEY_PORT)):
            link = opened.open((server.address, port), PROXIES.address)
            named[f"{server.address}:{port}"] = f"{PROXIES.address}:{link.port}"
        environment = {
            "SCHEDULERS": "2",
            "WORKERS": "2",
            "RECORDERS": "2",
            "HOST": PROCESSES["web-1"].address,
            "ALLOWED_HOSTS": " ".join(PROCESSES[name].address for name in ("web-1", "web-2")),
            "WEBHOOK_ALLOWED_NETWORKS": f"127.0.0.0/8 {hosts.NETWORK}.0/24",
            LINKS: json.dumps(named),
            **({CLOCKS: str(clocks)} if clocks is not None else {}),
        }
        with installation.started(_COMMAND, keep=False, **environment) as product:
            yield HostsSite(product, opened, clocks)
