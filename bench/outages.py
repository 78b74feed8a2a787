"""Schedulers stopped for 5, 20, 48 and 120 s, and everything for 48: what the misfire policies did.

Each stop meets a task of every policy that fires each second. Judged by the ledger that the API
shows and by the receiver's own times: every instant is there once, counts are as the policy says,
what is caught up keeps its pace, and ledger and Explain name the outage. Run:
``python -m bench.outages`` (``--seconds 5 48``, ``--full 48``).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench import command_line, installation, report
from operations.proof.client import ApiClient

THRESHOLD = 15.0
#: A scheduler that is stopped has renewed its leases up to this long before, and notices when it
#: goes on only a moment later.
_BLUR = 4
_GRACE = 2
_AROUND = timedelta(seconds=25)
#: What a start takes.
_START_SECONDS = 5.0
#: Of the space between two starts: a worker starts within some milliseconds of the due time.
_PACE_KEPT = 0.8
_POLICIES: Mapping[str, Mapping[str, Any]] = {
    "skip": {"misfire_policy": "skip"},
    "coalesce": {"misfire_policy": "coalesce"},
    "replay": {
        "misfire_policy": "replay",
        "misfire_replay_limit": 3,
        "misfire_replay_per_second": 2,
    },
    "grace": {"misfire_policy": "replay", "misfire_grace_seconds": _GRACE},
}
_LATE = "late_no_scheduler"
#: Reasons that the outage gives.
_REASONS = (
    _LATE,
    "misfire_skipped",
    "misfire_coalesced",
    "misfire_replayed",
    "misfire_grace_exceeded",
)


@dataclass
class Told:
    """What the API says of one task after a stop: its instants, and when those that ran started."""

    name: str
    instants: list[dict[str, Any]]
    started: dict[str, datetime]
    verdicts: list[str] = field(default_factory=list)

    def of(self, reason: str, *, ran: bool) -> list[dict[str, Any]]:
        """Return the instants of a reason that ran, or that did not."""
        return [
            one
            for one in self.instants
            if one["reason"] == reason and (one["status"] != "SKIPPED") == ran
        ]

    @property
    def caught_up(self) -> list[datetime]:
        """When what the outage made late started, in order."""
        late = (_LATE, "misfire_coalesced", "misfire_replayed")
        return sorted(
            self.started[one["execution_id"]]
            for one in self.instants
            if one["reason"] in late and one["execution_id"] in self.started
        )


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, nargs="*", default=[5, 20, 48, 120])
    parser.add_argument("--full", type=int, nargs="*", default=[48])
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def faults_of(told: Told, seconds: int) -> list[str]:
    """Return a line for each broken promise of a task after a stop of ``seconds``."""
    faults = _faults_of_counts(told, seconds)
    times = [_moment(one["scheduled_for"]) for one in told.instants]
    if any(after - before != timedelta(seconds=1) for before, after in pairwise(times)):
        faults.append("an instant is missing or there twice")
    pace = _POLICIES[told.name].get("misfire_replay_per_second", 10)
    gaps = [(after - before).total_seconds() for before, after in pairwise(told.caught_up[1:])]
    if gaps and min(gaps) < _PACE_KEPT / pace:
        faults.append(f"two late starts are {min(gaps) * 1000:.0f} ms apart at {pace} a second")
    if not told.verdicts or any("no scheduler ran" not in one for one in told.verdicts):
        faults.append(f"Explain does not name the outage: {told.verdicts}")
    return [f"{told.name}: {fault}" for fault in faults]


def _faults_of_counts(told: Told, seconds: int) -> list[str]:
    few, many = (max(0.0, seconds - THRESHOLD + blur) for blur in (-_BLUR, _BLUR))
    skipped = len(told.of("misfire_skipped", ran=False))
    coalesced = len(told.of("misfire_coalesced", ran=True))
    replayed = len(told.of("misfire_replayed", ran=True))
    left_out = len(told.of("misfire_coalesced", ran=False))
    beyond = len(told.of("misfire_grace_exceeded", ran=False))
    late = len(told.of(_LATE, ran=True))
    kept = {
        "skip": few <= skipped <= many and not coalesced + replayed,
        "coalesce": few <= coalesced + left_out <= many
        and coalesced == min(1, coalesced + left_out),
        "replay": few <= replayed + skipped <= many and replayed == min(3, replayed + skipped),
        "grace": beyond >= seconds - _GRACE - _BLUR and late <= _GRACE + 1 and not replayed,
    }
    faults = [] if kept[told.name] else [f"counts are {counts(told)}"]
    return faults if late <= THRESHOLD + 1 else [*faults, f"{late} ran late by the outage"]


def counts(told: Told) -> dict[str, int]:
    """Return how many instants of the stop have which state and reason."""
    found = Counter(f"{one['status']} {one['reason'] or 'on time'}" for one in told.instants)
    return dict(sorted(found.items()))


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def _make_tasks(client: ApiClient, url: str) -> dict[str, str]:
    made = {}
    for name, schedule in _POLICIES.items():
        body = {
            "name": name,
            "schedule": {"every": "PT1S", **schedule},
            "target": {"kind": "webhook", "url": url},
        }
        answer = await client.expect(201, "POST", "/v1/tasks", body, key=secrets.token_hex(8))
        made[name] = answer.json()["id"]
    return made


async def _tell(client: ApiClient, name: str, task: str, since: datetime, until: datetime) -> Told:
    bounds = {"from": _text(since), "to": _text(until)}
    occurrences = client.everything(f"/v1/tasks/{task}/occurrences", "occurrences", **bounds)
    runs = client.everything(f"/v1/tasks/{task}/executions", "executions")
    instants = [one async for one in occurrences]
    started = {one["id"]: _moment(one["started_at"]) async for one in runs if one["started_at"]}
    told = Told(name, instants, started)
    # One of each kind is enough: all of a kind are explained alike.
    asked = {(one["reason"], one["status"]): one for one in instants if one["reason"] in _REASONS}
    for one in asked.values():
        path = f"/v1/tasks/{task}/explain?at={_text(_moment(one['scheduled_for']))}"
        found = (await client.expect(200, "GET", path)).json()
        evidence = (check["evidence"] for check in found["checks"])
        told.verdicts.append(" ".join([found["verdict"], *evidence]))
    return told


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def _judge(
    product: installation.Installation, tasks: Mapping[str, str], since: datetime, seconds: int
) -> tuple[list[str], dict[str, Any]]:
    """Wait until what came due in the stop has ended; return the faults and the counts."""
    until = since + timedelta(seconds=seconds)
    faults, figures = [], {}
    async with ApiClient(product.base_url, product.api_key) as client:
        await asyncio.sleep(_AROUND.total_seconds())
        for name, task in tasks.items():
            told = await _tell(client, name, task, since - timedelta(seconds=10), until)
            faults += faults_of(told, seconds)
            figures[name] = counts(told)
    return [f"stop of {seconds} s: {fault}" for fault in faults], figures


async def _stop_scheduler(product: installation.Installation, seconds: int) -> datetime:
    pids = product.pids("scheduler")
    since = datetime.now(UTC)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(seconds)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    return since


async def _partial(product: installation.Installation, url: str, stops: Sequence[int]) -> list[Any]:
    found = []
    for seconds in stops:
        tasks = await _settled(product, url)
        since = await _stop_scheduler(product, seconds)
        found.append((f"scheduler {seconds} s", await _judge(product, tasks, since, seconds)))
        async with ApiClient(product.base_url, product.api_key) as client:
            for task in tasks.values():
                await client.expect(204, "DELETE", f"/v1/tasks/{task}", key=secrets.token_hex(8))
    return found


def _full(url: str, seconds: int) -> tuple[list[str], dict[str, Any]]:
    """Stop the whole installation, start it again ``seconds`` later; return the judgement."""
    scratch = Path(tempfile.mkdtemp(prefix="punctual-bench-outage-"))
    # As root, the account that runs everything has to pass through.
    scratch.chmod(0o711)
    key = f"bench-{secrets.token_urlsafe(32)}"
    data = str(scratch / "data")
    try:
        with installation.started(DATA_DIR=data, BOOTSTRAP_API_KEY=key) as product:
            tasks = asyncio.run(_settled(replace(product, api_key=key), url))
            since = datetime.now(UTC)
        ready_at = since + timedelta(seconds=seconds)
        away = (ready_at - datetime.now(UTC)).total_seconds() - _START_SECONDS
        asyncio.run(asyncio.sleep(max(0.0, away)))
        with installation.started(DATA_DIR=data, BOOTSTRAP_API_KEY=key) as product:
            whole = (datetime.now(UTC) - since).total_seconds()
            return asyncio.run(_judge(replace(product, api_key=key), tasks, since, int(whole)))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def _settled(product: installation.Installation, url: str) -> dict[str, str]:
    async with ApiClient(product.base_url, product.api_key) as client:
        tasks = await _make_tasks(client, url)
    await asyncio.sleep(_AROUND.total_seconds())
    return tasks


def main(arguments: list[str]) -> int:
    """Run the stops and publish; 1 when a promise was broken."""
    chosen = options(arguments)
    with installation.receiver() as target:
        url = f"{target.url}/ok"
        with installation.started() as product:
            found = asyncio.run(_partial(product, url, chosen.seconds))
        for seconds in chosen.full:
            found.append((f"everything {seconds} s", _full(url, seconds)))
    faults = [fault for _, (broken, _) in found for fault in broken]
    figures = {
        "stops": {name: told for name, (_, told) in found},
        "faults": faults,
        "passed": not faults,
    }
    lines = [f"{name}: {policy}: {told}" for name, (_, by) in found for policy, told in by.items()]
    report.publish("outages", figures, [*lines, *faults, "FAILED" if faults else "PASSED"], chosen)
    return 1 if faults else 0


if __name__ == "__main__":
    command_line.run(main)
