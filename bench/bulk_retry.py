"""Retries ten thousand dead letters by one command: it decides as many as it showed beforehand.

The letters come about through the product: as many tasks call a receiver that is away. It comes
back, and ``manage.py dlq retry --all`` runs the work again. The count shown before has to be
done + skipped + failed, and each retry one request at the receiver. Run:
``python -m bench.bulk_retry --start``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from bench import command_line, installation, report
from bench.failing import create, failing_task, until_failed
from bench.members import Member, enter, make_member
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient
from operations.proof.ledger import read_arrivals

_LEAD_MS = 2000
#: Failing takes the product this long at most, per letter.
_SECONDS_PER_LETTER = 0.05
_PATIENCE_SECONDS = 60.0
_PROGRESS = re.compile(r"retrying (\d+) % \((\d+) of (\d+)\)")


@dataclass(frozen=True, slots=True)
class Retried:
    """What the command said and how long it took."""

    code: int
    seconds: float
    document: dict[str, Any]
    #: Seconds since its start and rows done, of each line of progress.
    progress: list[tuple[float, int]]
    errors: str

    @property
    def job(self) -> dict[str, Any]:
        """Return the bulk job of the answer."""
        return self.document.get("bulk_job") or {}


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--letters", type=int, default=10_000)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


async def make_letters(
    product: installation.Installation, member: Member, port: int, count: int
) -> int:
    """Let ``count`` executions fail at a port without a listener; return how many did."""
    at_ms = time.time_ns() // 1_000_000 + _LEAD_MS
    url = f"http://127.0.0.1:{port}/ok"
    async with ApiClient(product.base_url, member.api_key) as client:
        await create(client, [failing_task(url, at_ms, number) for number in range(count)])
    seconds = _PATIENCE_SECONDS + count * _SECONDS_PER_LETTER
    return await until_failed(member.tenant_id, count, seconds)


def retry_all(product: installation.Installation, member: Member) -> Retried:
    """Run the command as from a script without a terminal, reading its progress as it comes."""
    begun = time.monotonic()
    process = subprocess.Popen(
        [
            *(sys.executable, "manage.py", "dlq", "retry", "--all", "--yes", "--json"),
            *("--tenant", str(member.tenant_id)),
        ],
        cwd=installation.CHECKOUT,
        env=product.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    progress: list[tuple[float, int]] = []
    lines: list[str] = []
    # The answer is one small document at the end: it waits in its pipe until the errors end.
    for line in process.stderr or ():
        lines.append(line)
        found = _PROGRESS.search(line)
        if found:
            progress.append((round(time.monotonic() - begun, 1), int(found[2])))
    output, _ = process.communicate()
    code = process.returncode
    try:
        document = json.loads(output)
    except ValueError:
        document = {}
    return Retried(code, time.monotonic() - begun, document, progress, "".join(lines)[-500:])


def until_arrived(target: Receiver, count: int) -> Counter[str]:
    """Wait for the retried requests; return how often each execution called."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        arrivals, _ = read_arrivals(target.ledger) if target.ledger.exists() else ([], [])
        found = Counter(one.webhook_id for one in arrivals)
        if len(found) >= count or time.monotonic() > deadline:
            return found
        threading.Event().wait(1.0)


def faults_of(letters: int, retried: Retried, left: int, calls: Counter[str]) -> list[str]:
    """Return a line for each broken promise."""
    job, faults = retried.job, []
    if retried.code != 0 or not job:
        return [f"the command ended with {retried.code}: {retried.errors}"]
    shown = int(retried.document["scope"]["count"])
    decided = job["done"] + job["skipped"] + job["failed"]
    if shown != letters:
        faults.append(f"{letters} letters, but {shown} were shown beforehand")
    if shown != decided:
        faults.append(f"{shown} were shown beforehand, {decided} decided")
    if letters - job["done"] != left:
        faults.append(f"{job['done']} done, but {left} of {letters} are still open")
    if len(calls) != job["done"]:
        faults.append(f"{job['done']} retried, {len(calls)} arrived")
    doubled = sum(count > 1 for count in calls.values())
    if doubled:
        faults.append(f"{doubled} arrived more than once")
    if not retried.progress:
        faults.append("no progress was shown")
    return faults


def _open_letters(member: Member) -> int:
    from executions.models import DeadLetter

    return DeadLetter.objects.for_tenant(member.tenant_id).filter(resolved=False).count()


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Make the letters, retry them, publish; 1 when the numbers do not agree."""
    enter(product)
    member, port = make_member(), installation.free_port()
    begun = time.monotonic()
    letters = asyncio.run(make_letters(product, member, port, chosen.letters))
    made_in = time.monotonic() - begun
    print(f"{letters} dead letters after {made_in:.0f} s", flush=True)
    if letters != chosen.letters:
        raise installation.InstallationError(f"only {letters} dead letters came about")
    with installation.receiver(port=port) as target:
        retried = retry_all(product, member)
        calls = until_arrived(target, int(retried.job.get("done", 0)))
    faults = faults_of(letters, retried, _open_letters(member), calls)
    return _conclude(letters, retried, calls, faults, chosen)


def _conclude(
    letters: int, retried: Retried, calls: Counter[str], faults: list[str], chosen: Any
) -> int:
    job = retried.job
    counts = {name: job.get(name) for name in ("done", "skipped", "failed")}
    shown = (retried.document.get("scope") or {}).get("count")
    lines = [
        f"retry of {letters} dead letters: shown beforehand {shown}, "
        + ", ".join(f"{name} {count}" for name, count in counts.items()),
        f"{retried.seconds:.1f} s, {letters / retried.seconds:.0f} a second; "
        f"requests at the receiver {sum(calls.values())}",
        "progress: " + ", ".join(f"{done} after {at:g} s" for at, done in retried.progress),
        *faults,
        "FAILED" if faults else "PASSED",
    ]
    figures = {
        "letters": letters,
        "shown": shown,
        **counts,
        "seconds": round(retried.seconds, 2),
        "progress": retried.progress,
        "arrived": sum(calls.values()),
        "faults": faults,
        "passed": not faults,
    }
    report.publish("bulk-retry", figures, lines, chosen)
    return 1 if faults else 0


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
