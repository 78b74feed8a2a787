"""Runs that failed are retried from the failed step, and every process is killed in between.

First all runs fail at one step. Everything is killed with -9 and started again; the runs are
retried with an input that mends the step, and once they go on, everything is killed again. After
the second start every run has to succeed, and by the receiver's ledger nothing that had succeeded
in the first take has run again.
Run: ``python -m bench.workflows retry``.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import command_line, installation, report
from bench.chaos.site import fault
from bench.installation import Installation, InstallationError
from bench.processes import kill
from bench.workflows.definitions import calls, workflow
from bench.workflows.evidence import Call, problems, read_calls
from bench.workflows.runs import create, start, statuses, until_ended
from launcher import local_state
from operations.proof.campaign import Receiver
from operations.proof.client import ApiClient
from operations.proof.ledger import read_arrivals
from operations.proof.matcher import Fault

NAME = "retry"
_PATIENCE_SECONDS = 180.0
_ITEMS = 5
#: The last second of the outcome stream may be lost with Valkey.
_DOUBT_SECONDS = 2.0
#: Longer than outcomes wait until they are recorded: nothing of the first take is in doubt.
_REST_SECONDS = 2.5
_LOOK_SECONDS = 0.05
#: Its last steps are slow, so that the second kill meets runs under way.
_SLOW_MS = 1500


def add_parser(parsers: Any) -> None:
    """Add the part's options."""
    parser = parsers.add_parser(NAME, help="retries beside kills of everything")
    parser.add_argument("--runs", type=command_line.above_zero, default=50)
    parser.add_argument("--keep", action="store_true", help="keep the scratch directories")
    report.add_arguments(parser)
    parser.set_defaults(run=run)


def graph(url: str) -> dict[str, Any]:
    """Return four steps that succeed, one that the input decides on, and two behind it."""
    once = {"retry_policy": {"max_attempts": 1}}
    often = {"retry_policy": {"max_attempts": 5, "initial_delay_seconds": 0.5}}
    steps = [
        calls("a", f"{url}/ok", **often),
        calls("b", f"{url}/slow?ms=100", "a", **often),
        calls("c", f"{url}/ok", "a", **often),
        calls("load", f"{url}/ok", "b", "c", for_each="{{ input.items }}", **often),
        calls("mend", f"{url}/status/{{{{ input.status }}}}", "load", **once),
        calls("after", f"{url}/slow?ms={_SLOW_MS}", "mend", **often),
        calls("report", f"{url}/ok", "after", **often),
    ]
    return workflow("mended", steps)


def value(status: int) -> dict[str, Any]:
    """Return an input with which the deciding step is answered so."""
    return {"items": list(range(_ITEMS)), "status": status}


async def kill_everything(product: Installation, *, doubt: float = 0.0) -> Fault:
    """Kill all processes of an installation at once, its supervisor first; wait for their end."""
    if product.supervisor is None:
        raise InstallationError("only an installation of its own is killed")
    listed = local_state.load_runtime(Path(product.environment["DATA_DIR"])).get("processes", ())
    roots = [product.supervisor, *(int(one["pid"]) for one in listed if one["pid"])]
    await asyncio.to_thread(kill, roots)
    return fault("SIGKILL of everything", doubt=doubt)


async def _fail(product: Installation, receiver: Receiver, count: int) -> list[str]:
    """Run the workflow so often that it fails each time; return the runs."""
    async with ApiClient(product.base_url, product.api_key) as client:
        workflow_id = await create(client, graph(receiver.url))
        ids = [(await start(client, workflow_id, value(500)))[0] for _ in range(count)]
    found = await until_ended(product, ids, _PATIENCE_SECONDS)
    if statuses(found) != {"FAILED": count}:
        raise InstallationError(f"the runs were to fail: {statuses(found)}")
    await asyncio.sleep(_REST_SECONDS)
    await kill_everything(product)
    return ids


async def _retry(product: Installation, receiver: Receiver, ids: Sequence[str]) -> Fault:
    """Retry the runs, and kill everything as soon as one of them goes on."""
    before = len(read_arrivals(receiver.ledger)[0])
    async with ApiClient(product.base_url, product.api_key) as client:
        for run_id in ids:
            path, key = f"/v1/workflow-runs/{run_id}/retry", secrets.token_hex(16)
            await client.expect(202, "POST", path, {"input": value(200)}, key=key)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while len(read_arrivals(receiver.ledger)[0]) < before + len(ids):
        if time.monotonic() > deadline:
            raise InstallationError("the retried runs do not go on")
        await asyncio.sleep(_LOOK_SECONDS)
    return await kill_everything(product, doubt=_DOUBT_SECONDS)


def judge(made: Sequence[Call], body: dict[str, Any], struck: Fault) -> list[str]:
    """Return what ran before its time, twice without a reason, or again in the second take."""
    done = {
        (call.run_id, call.step, call.item)
        for call in made
        if call.take == 1 and call.arrival.succeeded
    }
    again = [c for c in made if c.take > 1 and (c.run_id, c.step, c.item) in done]
    found = [
        f"step {c.step}[{c.item}] of run {c.run_id} had succeeded and ran again" for c in again
    ]
    return found + [one for one in problems(made, body, struck.doubts) if one not in found]


def measure(receiver: Receiver, data: Path, chosen: Any) -> dict[str, Any]:
    """Run the three installations after each other on one data directory; return the figures."""
    with installation.started(keep=chosen.keep, DATA_DIR=str(data)) as product:
        ids = asyncio.run(_fail(product, receiver, chosen.runs))
        api_key = product.api_key
    with installation.started(keep=chosen.keep, DATA_DIR=str(data)) as product:
        again = replace(product, api_key=api_key)
        struck = asyncio.run(_retry(again, receiver, ids))
    with installation.started(keep=chosen.keep, DATA_DIR=str(data)) as product:
        found = asyncio.run(until_ended(product, ids, _PATIENCE_SECONDS, take=2))
        made, _ = read_calls(product.database_url, receiver.ledger, ids)
    wrong = judge(made, graph(receiver.url), struck)
    if statuses(found) != {"SUCCEEDED": chosen.runs}:
        wrong.append(f"the runs were to succeed: {statuses(found)}")
    takes = {take: sum(call.take == take for call in made) for take in (1, 2)}
    return {
        "runs": chosen.runs,
        "requests_of_take_1": takes[1],
        "requests_of_take_2": takes[2],
        "in_flight_at_kill": sum(struck.catches(call.arrival) for call in made),
        "problems": wrong,
        "passed": not wrong,
    }


def run(chosen: argparse.Namespace) -> int:
    """Run and publish; 1 where a run did not do what it had to."""
    scratch = Path(tempfile.mkdtemp(prefix="punctual-retry-"))
    # As root, the account that runs the embedded servers has to pass through.
    scratch.chmod(0o711)
    try:
        with installation.receiver() as receiver:
            figures = measure(receiver, scratch / "data", chosen)
    finally:
        if not chosen.keep:
            shutil.rmtree(scratch, ignore_errors=True)
    wrong = figures["problems"]
    lines = [f"{name.replace('_', ' ')}: {figures[name]}" for name in list(figures)[:4]]
    lines += [*wrong, "FAILED" if wrong else "PASSED"]
    report.publish(f"workflows-{NAME}", figures, lines, chosen)
    return 1 if wrong else 0
