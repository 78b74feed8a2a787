"""Punctual itself: an installation with every default.

Runs that begin one after the other are asked for by the API; those that begin together are started
in one transaction by a program, as the peers' are.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench.installation import CHECKOUT, Installation, started
from bench.peers.contender import Killable
from bench.peers.figures import OWN
from bench.peers.plan import Plan, payload
from bench.workflows.peers.shapes import body, shape_of
from bench.workflows.retry import kill_everything
from bench.workflows.runs import create, start
from operations.proof.client import ApiClient

_STARTS = "bench.workflows.peers.workers.punctual_starts"


class Punctual(Killable):
    """``manage.py up`` on free ports, with servers and data of its own."""

    name = OWN

    def start(self, scratch: Path) -> None:
        """Start the installation on a data directory that outlives it."""
        self._data = scratch / "data"
        self._api_key = ""
        self.restart()

    def restart(self) -> None:
        """Start an installation, or start it again on what a kill has left."""
        running = self._stack.enter_context(ExitStack())
        product = running.enter_context(started(DATA_DIR=str(self._data)))
        # The data keep the key of the first start.
        self._api_key = self._api_key or product.api_key
        self._product: Installation = replace(product, api_key=self._api_key)
        self._running = running

    def kill(self) -> None:
        """Kill every process with SIGKILL, servers included; return when all have ended."""
        asyncio.run(kill_everything(self._product))
        self._running.close()

    def schedule(self, plan: Plan) -> None:
        """Create the workflow, then start each run when it is due, or all together."""
        if plan.step_ms:
            asyncio.run(self._ask_for_runs(plan))
        else:
            self._start_together(plan)

    def _start_together(self, plan: Plan) -> None:
        workflow_id = asyncio.run(self._create(plan))
        subprocess.run(
            [sys.executable, "-m", _STARTS, workflow_id, str(plan.count)],
            env={**self._product.environment, "DJANGO_SETTINGS_MODULE": "scheduler_site.settings"},
            cwd=CHECKOUT,
            check=True,
        )

    async def _create(self, plan: Plan) -> str:
        async with ApiClient(self._product.base_url, self._product.api_key) as client:
            return await create(client, workflow(plan))

    def kinds(self) -> dict[int, str]:
        """Return the processes as ``manage.py ps`` names them."""
        return self._product.kinds()

    def versions(self) -> dict[str, str]:
        """Return nothing: the result tells the versions of this checkout anyway."""
        return {}

    async def _ask_for_runs(self, plan: Plan) -> None:
        async with ApiClient(self._product.base_url, self._product.api_key) as client:
            workflow_id = await create(client, workflow(plan))

            async def ask(run: int) -> None:
                await asyncio.sleep(max(0.0, plan.due_ms(run) / 1000 - time.time()))
                await start(client, workflow_id, {"run": run})

            async with asyncio.TaskGroup() as asked:
                for run in range(plan.count):
                    asked.create_task(ask(run))


def workflow(plan: Plan) -> dict[str, object]:
    """Return the workflow of a plan: each step calls the number of its run and of itself."""
    made = body(shape_of(plan), "")
    for step, call in enumerate(made["steps"]):
        call["target"] |= {"url": f"{plan.url}/hook/{{{{ input.run }}}}{step}"}
        call["payload"] = payload(step)
    return made
