"""The large runs that the console has to show quickly, made by running them.

A fan-out of many items that has ended, one in flight with half of its items ended, a run of ten
fan-outs, and a workflow of many steps with a page of runs.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import psycopg

from bench.installation import Installation, InstallationError
from bench.workflows.definitions import ALL_DONE, Step, calls, workflow
from bench.workflows.runs import create, start, until_ended
from operations.proof.client import ApiClient

#: Items of the run in flight that are answered late, so that it stays in flight.
SLOW_MS = 25_000
PARALLEL = 100
FANS = 10
_LAYER = 30
#: From one step that fails to the next; the steps that depend on them run all the same.
_FAILS_EACH = 97
_PATIENCE_SECONDS = 900.0
_LOOK_SECONDS = 0.5
_BEGUN = "SELECT begun FROM workflow_fans WHERE run_id = %s"


@dataclass(frozen=True, slots=True)
class Large:
    """The workflows and runs, by their ids."""

    fan_workflow: str
    ended: str
    in_flight: str
    fans_workflow: str
    fans: str
    wide_workflow: str
    wide: str
    #: A step of each: of the fan-out, of the fan-outs, and of the many steps.
    fan_step: str = "load"
    fans_step: str = "load0"
    wide_step: str = "s001"


def one_fan_out(url: str) -> dict[str, Any]:
    """Return a fan-out whose items say how late they are answered, and a join with its outputs."""
    load = calls("load", f"{url}/slow?ms={{{{ item }}}}", for_each="{{ input }}")
    load |= {"max_parallel": PARALLEL, "payload": {"ms": "{{ item }}"}}
    join = calls("join", f"{url}/ok", "load", when="steps.load.output.failed == 0")
    return workflow("large: one fan-out", [load, join])


def many_fan_outs(url: str) -> dict[str, Any]:
    """Return ten fan-outs beside each other, and a join that names the outputs of all."""
    fans = [
        calls(f"load{n}", f"{url}/ok", for_each="{{ input }}", max_parallel=PARALLEL)
        for n in range(FANS)
    ]
    payload = [f"{{{{ steps.load{n}.output.succeeded }}}}" for n in range(FANS)]
    join = calls("join", f"{url}/ok", *(f"load{n}" for n in range(FANS)), payload=payload)
    return workflow("large: ten fan-outs", [*fans, join])


def many_steps(url: str, count: int) -> dict[str, Any]:
    """Return layers of thirty steps: each step waits for one of the layer before."""
    steps: list[Step] = []
    for number in range(count):
        before = [f"s{number - _LAYER:03}"] if number >= _LAYER else []
        place = f"{url}/status/500" if number % _FAILS_EACH == _FAILS_EACH - 1 else f"{url}/ok"
        once = {"retry_policy": {"max_attempts": 1}, "condition": ALL_DONE}
        steps.append(calls(f"s{number:03}", place, *before, **once))
    return workflow("large: many steps", steps, on_failure="continue")


async def make(product: Installation, url: str, chosen: Any) -> Large:
    """Run all of them; return when only the one in flight is under way, half of it ended."""
    async with ApiClient(product.base_url, product.api_key) as client:
        fan = await create(client, one_fan_out(url))
        ten = await create(client, many_fan_outs(url))
        wide = await create(client, many_steps(url, chosen.steps))
        ended, _ = await start(client, fan, [0] * chosen.items)
        await until_ended(product, [ended], _PATIENCE_SECONDS)
        fans, _ = await start(client, ten, list(range(chosen.items // FANS)))
        await until_ended(product, [fans], _PATIENCE_SECONDS)
        runs = [(await start(client, wide))[0] for _ in range(chosen.runs)]
        await until_ended(product, runs, _PATIENCE_SECONDS)
        half = chosen.items // 2
        in_flight, _ = await start(client, fan, [0] * half + [SLOW_MS] * (chosen.items - half))
    await _until_begun(product, in_flight, half + min(PARALLEL, chosen.items - half))
    return Large(fan, ended, in_flight, ten, fans, wide, runs[-1])


async def cancel(product: Installation, run_id: str) -> None:
    """Cancel the run in flight, so that nothing keeps the installation from stopping."""
    async with ApiClient(product.base_url, product.api_key) as client:
        path = f"/v1/workflow-runs/{run_id}/cancel"
        await client.expect(202, "POST", path, {"scope": "all"}, key=f"cancel-{run_id}")


async def _until_begun(product: Installation, run_id: str, count: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        with psycopg.connect(product.database_url, autocommit=True) as session:
            row = session.execute(_BEGUN.encode(), (run_id,)).fetchone()
        if row and row[0] >= count:
            return
        await asyncio.sleep(_LOOK_SECONDS)
    raise InstallationError(f"run {run_id} has not begun {count} items")
