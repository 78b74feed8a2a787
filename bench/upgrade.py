"""An upgrade under load, from another checkout to this one: nothing missed, nothing doubled.

PostgreSQL and Valkey run throughout. Punctual's processes start from the other checkout. Under
load this one migrates the database, and then each process, in the order of
``docs/operations/upgrade.md``, is asked to end (SIGTERM) and started from this checkout; the next
waits until it is live. So this checkout's recorders read what the other's workers report, and its
workers what the other's schedulers send. The other checkout has its own environment
(``make setup-dev``). Run: ``python -m bench.upgrade --other ../before``.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

from bench import campaign, command_line, installation, report
from bench.chaos.processes import until_true
from bench.chaos.shutdown import is_live
from bench.chaos.site import Site, into
from bench.installation import CHECKOUT, Installation, InstallationError
from bench.peers.servers import POSTGRESQL, VALKEY, running
from bench.rolling_restart import broken, plan_of
from launcher import local_state
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.oracle import Planned
from operations.proof.workload import Window

#: In the order in which they are replaced: name -> kind and command.
PROCESSES = {
    "recorder-1": ("recorder", ("run_recorder",)),
    "recorder-2": ("recorder", ("run_recorder",)),
    "worker-1": ("worker", ("run_worker",)),
    "worker-2": ("worker", ("run_worker",)),
    "system-worker": ("system-worker", ("run_worker", "--pool", "system")),
    "scheduler-1": ("scheduler", ("run_scheduler",)),
    "scheduler-2": ("scheduler", ("run_scheduler",)),
    "web": ("web", ("run_web",)),
}
#: The system's worker says nothing of itself while there is nothing to do.
_SILENT = ("system-worker",)
_BEGIN_SECONDS, _APART_SECONDS = 5.0, 4.0
_COMMAND_SECONDS, _STOP_SECONDS = 180.0, 45.0


@dataclass(slots=True)
class Fleet:
    """Punctual's processes by name."""

    environment: dict[str, str] = field(repr=False)
    log: Path
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def command(self, checkout: Path, *words: str) -> None:
        """Run a command of a checkout to its end; InstallationError when it fails."""
        done = subprocess.run(
            _argv(checkout, words),
            cwd=checkout,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise InstallationError(f"{words[0]} of {checkout} failed: {done.stderr[-2000:]}")

    def start(self, name: str, checkout: Path) -> int:
        """Start a process from a checkout and return its id."""
        kind, words = PROCESSES[name]
        with self.log.open("ab") as output:
            self.processes[name] = subprocess.Popen(
                _argv(checkout, words),
                cwd=checkout,
                env={**self.environment, "PROCESS_KIND": kind, "PROCESS_NAME": name},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return self.processes[name].pid

    def stop(self, name: str) -> None:
        """Ask a process to end, and wait for it."""
        installation.stop(self.processes[name], _STOP_SECONDS)

    def stop_all(self) -> None:
        """Stop what runs, in the opposite order."""
        for name in reversed(self.processes):
            self.stop(name)


@dataclass(frozen=True, slots=True)
class SharedSite(Site):
    """A site whose processes no supervisor knows."""

    def _address(self, name: str) -> str:
        return self.product.environment[name.upper()]


@dataclass(slots=True)
class Upgrade:
    """Replaces every process of a fleet by one of this checkout; ``took`` are its seconds."""

    fleet: Fleet
    site: Site
    took: dict[str, float] = field(default_factory=dict)
    ended_ms: float = math.inf

    async def __call__(self, window: Window) -> tuple[Fault, ...]:
        """Migrate and replace; no fault is noted, so nothing may be doubled."""
        await into(window, _BEGIN_SECONDS)
        await asyncio.to_thread(self.fleet.command, CHECKOUT, "migrate", "--no-input")
        for name in PROCESSES:
            await asyncio.to_thread(self.fleet.stop, name)
            self.took[name] = await self.started(name, CHECKOUT)
            await asyncio.sleep(_APART_SECONDS)
        self.ended_ms = time.time() * 1000
        return ()

    def problems(self, window: Window) -> list[str]:
        """Return why the run shows no whole upgrade under load."""
        found = []
        if set(self.took) != set(PROCESSES):
            found.append(f"only {len(self.took)} of {len(PROCESSES)} processes were replaced")
        if self.ended_ms > window.end_ms:
            found.append("the load ended before the upgrade: give more --seconds")
        return found

    async def started(self, name: str, checkout: Path) -> float:
        """Start a process, wait until it is live, and return the seconds."""
        kind, pid = PROCESSES[name][0], self.fleet.start(name, checkout)
        process = self.fleet.processes[name]

        def live() -> bool:
            if process.poll() is not None:
                raise InstallationError(f"{name} ended with {process.returncode}")
            return kind in _SILENT or is_live(self.site, kind, pid)

        return await until_true(f"{name} is live", live, seconds=60.0)


def _argv(checkout: Path, words: tuple[str, ...]) -> list[str]:
    return [str(checkout / ".venv" / "bin" / "python"), "manage.py", *words]


@contextmanager
def opened(other: Path, scratch: Path) -> Iterator[tuple[Fleet, SharedSite]]:
    """Yield the processes of the other checkout, not yet started, and the prepared installation."""
    secrets = local_state.ensure_secrets(scratch / "secrets")
    api_key, port = f"bench-{token_urlsafe(32)}", str(installation.free_port())
    with ExitStack() as stack:
        servers = stack.enter_context(running(scratch / "servers", (POSTGRESQL, VALKEY)))
        environment = {
            **os.environ,
            "DATABASE_URL": servers.urls[POSTGRESQL],
            "REDIS_URL": servers.urls[VALKEY],
            "SECRET_KEY": secrets["secret_key"],
            "ENCRYPTION_KEYS": secrets["encryption_keys"],
            "VAPID_PRIVATE_KEY": secrets["vapid_private_key"],
            "BOOTSTRAP_API_KEY": api_key,
            "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
            "DATA_DIR": str(scratch / "data"),
            "PORT": port,
            "PYTHONUNBUFFERED": "1",
        }
        fleet = Fleet(environment, scratch / "processes.log")
        stack.callback(fleet.stop_all)
        fleet.command(other, "migrate", "--no-input")
        fleet.command(other, "bootstrap", "--json")
        product = Installation(f"http://127.0.0.1:{port}", api_key, environment)
        yield fleet, SharedSite(product)


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.upgrade", description=__doc__)
    parser.add_argument("--other", type=Path, required=True, help="the checkout to come from")
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--slow-share", type=float, default=0.05)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Run the upgrade; 1 when something was missed or doubled, or too much was late."""
    chosen = options(arguments)
    other = chosen.other.resolve()

    def plan(window: Window) -> list[Planned]:
        return plan_of(window, chosen.rate, chosen.slow_share)

    async def run(fleet: Fleet, site: SharedSite) -> Outcome:
        for name in PROCESSES:
            await Upgrade(fleet, site).started(name, other)
        return await campaign.run(site.product, chosen.seconds, plan, upgrade)

    with tempfile.TemporaryDirectory(prefix="punctual-bench-") as scratch:
        # As root, the account that runs the servers has to pass through.
        Path(scratch).chmod(0o711)
        with opened(other, Path(scratch)) as (fleet, site):
            upgrade = Upgrade(fleet, site)
            outcome = asyncio.run(run(fleet, site))
    problems = [*broken(outcome), *upgrade.problems(outcome.window)]
    commit = report.commit_of(other)
    lines = [
        f"{len(upgrade.took)} processes of {commit} replaced, {chosen.rate:g} executions a second",
        *report.verdict_lines(outcome.verdict),
        *(f"  {name:<16} live after {took:.1f} s" for name, took in upgrade.took.items()),
        *outcome.notes,
        *problems,
        "FAILED" if problems else "PASSED",
    ]
    figures = {
        "other": commit,
        "rate": chosen.rate,
        "seconds": chosen.seconds,
        "live_after_seconds": {name: round(took, 2) for name, took in upgrade.took.items()},
        **outcome.as_json(),
        "problems": problems,
        "passed": not problems,
    }
    report.publish("upgrade", figures, lines, chosen)
    return 1 if problems else 0


if __name__ == "__main__":
    command_line.run(main)
