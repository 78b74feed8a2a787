"""Hosts as network namespaces on one bridge: each process of an installation on one of its own.

Needs root and ``ip``. A cut gives the neighbour a hardware address that no host has, so that
packets vanish silently, in one direction or both; nothing is refused and nothing reset. Everything
carries one prefix: the next start removes what a killed bench has left.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.chaos.site import CannotRunError

PREFIX = "pnct-"
BRIDGE = f"{PREFIX}br"
NETWORK = "10.231.77"
_NOBODY = "02:50:4e:ff:ff:ff"
_DEVICE = "eth0"
_NAMESPACES = Path("/run/netns")


class HostsError(CannotRunError):
    """The hosts cannot be made here: not root, no ``ip``, or the kernel refuses."""


@dataclass(frozen=True, slots=True)
class Host:
    """A machine of the stand; the one without a namespace is this machine, on the bridge."""

    name: str
    number: int

    @property
    def address(self) -> str:
        """Return its address."""
        return f"{NETWORK}.{self.number}"

    @property
    def hardware(self) -> str:
        """Return its hardware address."""
        # Both addresses of the bridge are those of one device.
        return f"02:50:4e:00:00:{max(self.number, 2) if not self.outside else 2:02x}"

    @property
    def outside(self) -> bool:
        """Return whether it is this machine: receivers and proxies run here."""
        return self.number <= 2

    @property
    def namespace(self) -> str:
        """Return the name of its namespace."""
        return f"{PREFIX}{self.name}"

    @property
    def device(self) -> str:
        """Return the device that others are reached by."""
        return BRIDGE if self.outside else _DEVICE

    def command(self, *words: str) -> tuple[str, ...]:
        """Return the command that runs the words on this host; it keeps its process id."""
        if self.outside:
            return words
        return ("nsenter", f"--net={_NAMESPACES / self.namespace}", "--", *words)


RECEIVERS = Host("receivers", 1)
PROXIES = Host("proxies", 2)
VALKEY = Host("valkey", 3)
POSTGRESQL = Host("postgresql", 4)
_KINDS = ("web", "scheduler", "worker", "recorder")
#: Name of the process -> its host; two of each kind.
PROCESSES = {
    name: Host(name, 11 + number)
    for number, name in enumerate(
        (*(f"{kind}-{n}" for kind in _KINDS for n in (1, 2)), "system-worker-1")
    )
}
INSIDE = (VALKEY, POSTGRESQL, *PROCESSES.values())
EVERYBODY = (RECEIVERS, PROXIES, *INSIDE)


@contextmanager
def network() -> Iterator[None]:
    """Make the hosts and remove them again; HostsError where that cannot be."""
    if os.geteuid() != 0 or shutil.which("ip") is None or shutil.which("nsenter") is None:
        raise HostsError("hosts need root, ip (iproute2) and nsenter (util-linux)")
    remove()
    try:
        _make()
        yield
    finally:
        remove()


def cut(one: Host, other: Host) -> None:
    """Lose every packet between two hosts."""
    cut_towards(one, other)
    cut_towards(other, one)


def cut_towards(sender: Host, receiver: Host) -> None:
    """Lose every packet of the first to the second; the other way stays open."""
    _point(sender, receiver, _NOBODY)


def heal() -> None:
    """Let everybody reach everybody; nothing else was ever changed."""
    for one in EVERYBODY:
        _point_at_all(one)


def addresses_in_use(pid: int) -> set[tuple[int, str]]:
    """Return local port and remote address of the established connections on a process's host."""
    text = Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii")
    return established(text)


def established(table: str) -> set[tuple[int, str]]:
    """Return local port and remote address of the established lines of ``/proc/net/tcp``."""
    found = set()
    for line in table.splitlines()[1:]:
        _, local, remote, state = line.split()[:4]
        if state == "01":
            raw = bytes.fromhex(remote.split(":")[0])
            found.add((int(local.split(":")[1], 16), ".".join(str(part) for part in raw[::-1])))
    return found


def remove() -> None:
    """Remove every host of the prefix with the processes that run on it."""
    for name in _listed("ip", "netns", "list"):
        if name.startswith(PREFIX):
            for pid in _listed("ip", "netns", "pids", name):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            _run("ip", "netns", "delete", name)
    if Path(f"/sys/class/net/{BRIDGE}").exists():
        _run("ip", "link", "delete", BRIDGE)


def _make() -> None:
    _run("ip", "link", "add", BRIDGE, "address", PROXIES.hardware, "type", "bridge")
    for host in (RECEIVERS, PROXIES):
        _run("ip", "address", "add", f"{host.address}/24", "dev", BRIDGE)
    _run("ip", "link", "set", BRIDGE, "up")
    for host in INSIDE:
        _join(host)
    heal()


def _join(host: Host) -> None:
    end = f"{PREFIX}{host.number}"
    name = host.namespace
    _run("ip", "netns", "add", name)
    peer = ("peer", "name", _DEVICE, "address", host.hardware, "netns", name)
    _run("ip", "link", "add", end, "type", "veth", *peer)
    _run("ip", "link", "set", end, "master", BRIDGE, "up")
    _run("ip", "-n", name, "address", "add", f"{host.address}/24", "dev", _DEVICE)
    for device in ("lo", _DEVICE):
        _run("ip", "-n", name, "link", "set", device, "up")


def _point(sender: Host, receiver: Host, hardware: str) -> None:
    _batch(sender, [_neighbour(sender, receiver, hardware)])


def _point_at_all(sender: Host) -> None:
    others = [host for host in EVERYBODY if host.outside != sender.outside or not host.outside]
    _batch(sender, [_neighbour(sender, host, host.hardware) for host in others if host != sender])


def _neighbour(sender: Host, receiver: Host, hardware: str) -> str:
    return f"neigh replace {receiver.address} lladdr {hardware} dev {sender.device} nud permanent"


def _batch(sender: Host, lines: list[str]) -> None:
    where = () if sender.outside else ("-n", sender.namespace)
    _run("ip", *where, "-batch", "-", text="\n".join(lines) + "\n")


def _listed(*words: str) -> list[str]:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return [line.split()[0] for line in done.stdout.splitlines() if line.strip()]


def _run(*words: str, text: str | None = None) -> None:
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HostsError(f"{' '.join(words)}: {done.stderr.strip()}")
