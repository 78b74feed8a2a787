"""Many changes of the same few tasks at the same moment, and crashes right after a creation."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import psycopg

from bench.chaos.experiment import Experiment
from bench.chaos.probed import probed
from bench.chaos.prober import Prober
from bench.chaos.servers import POSTGRESQL, until_answering
from bench.chaos.site import Site, fault, into
from operations.proof.campaign import Outcome
from operations.proof.client import ApiClient
from operations.proof.matcher import Fault
from operations.proof.workload import Window

_TASKS, _CLIENTS = 3, 8
_CONTEND_SECONDS = 12.0
_CHANGES = ("pause", "resume", "edit")
_MAY_ANSWER = frozenset({200, 409})
_CRASH_SECONDS = 25.0


@dataclass(slots=True)
class _Contention:
    """Clients that change the same tasks; remembers every answer."""

    answers: Counter[int] = field(default_factory=Counter)
    #: Task id -> names that an edit was told to have set.
    accepted: dict[str, set[str]] = field(default_factory=dict)

    async def inject(self, site: Site, window: Window) -> tuple[Fault, ...]:
        self.answers.clear()
        self.accepted.clear()
        product = site.product
        async with ApiClient(
            product.base_url, product.api_key, concurrency=_CLIENTS, tries=1
        ) as client:
            prober = Prober(site)
            for _ in range(_TASKS):
                await prober.create(client)
            ids = list(prober.seen.created.values())
            self.accepted.update({task_id: set() for task_id in ids})
            await into(window, 5)
            deadline = time.monotonic() + _CONTEND_SECONDS
            await asyncio.gather(
                *(self._change(client, ids, number, deadline) for number in range(_CLIENTS))
            )
        return ()

    async def _change(
        self, client: ApiClient, ids: list[str], number: int, deadline: float
    ) -> None:
        rng = random.Random(number)
        count = 0
        while time.monotonic() < deadline:
            task_id, what = rng.choice(ids), rng.choice(_CHANGES)
            count += 1
            name = f"contended {number} {count}"
            if what == "edit":
                answer = await client.call("PATCH", f"/v1/tasks/{task_id}", {"name": name})
                if answer.status == 200:
                    self.accepted[task_id].add(name)
            else:
                answer = await client.call("POST", f"/v1/tasks/{task_id}/{what}", {})
            self.answers[answer.status] += 1

    def check(self, site: Site, outcome: Outcome) -> list[str]:
        """Return what an answer of the changes broke."""
        outcome.notes.append(f"changes were answered {dict(sorted(self.answers.items()))}")
        found = [
            f"{count} changes were answered {status}"
            for status, count in self.answers.items()
            if status not in _MAY_ANSWER
        ]
        for task_id, names in self.accepted.items():
            [(name,)] = site.rows("SELECT name FROM tasks WHERE id = %s", (task_id,))
            if names and name not in names:
                found.append(f"{task_id} is called {name!r}, which no accepted edit set")
        return found


_contention = _Contention()


async def _crash_after_each_201(site: Site, window: Window) -> tuple[Fault, ...]:
    """Crash PostgreSQL directly after each 201; it recovers from its log by itself."""
    product = site.product
    prober = Prober(site)
    faults: list[Fault] = []
    deadline = time.monotonic() + _CRASH_SECONDS
    async with ApiClient(product.base_url, product.api_key, tries=1) as client:
        while time.monotonic() < deadline:
            victim = await asyncio.to_thread(_a_session, site)
            if victim is None or not await prober.create(client):
                await asyncio.sleep(0.1)
                continue
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            began = time.monotonic()
            await until_answering(site, POSTGRESQL)
            faults.append(fault("crash", seconds=time.monotonic() - began))
    _crashes.update(rounds=len(faults), lost=prober.lost())
    return tuple(faults)


#: What the last run of the crashes found.
_crashes: dict[str, Any] = {}


def _a_session(site: Site) -> int | None:
    """Return a server process whose end makes PostgreSQL throw away its memory and recover."""
    statement = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
    try:
        found = site.rows(statement)
    except psycopg.OperationalError:
        return None
    return int(found[0][0]) if found else None


def _all_created_are_there(site: Site, outcome: Outcome) -> list[str]:
    outcome.notes.append(f"{_crashes['rounds']} crashes, each right after a 201")
    found: list[str] = list(_crashes["lost"])
    if not _crashes["rounds"]:
        found.append("no crash was made")
    return found


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        id="changes-of-one-task",
        fault="many change the same task at the same moment",
        how=f"{_CLIENTS} clients pause, resume and edit {_TASKS} tasks for 12 s",
        invariant="every change is answered 200 or 409, and the last name is an accepted one",
        inject=_contention.inject,
        check=_contention.check,
    ),
    probed(
        _crash_after_each_201,
        check=_all_created_are_there,
        answer_seconds=3.0,
        id="database-crashes-after-201",
        fault="PostgreSQL crashes directly after each answer to a creation",
        how="SIGKILL of a server process after each 201, for 25 s",
        invariant="every 201 is there after the recovery",
        seconds=35.0,
        rate=15.0,
        latest_start_seconds=20.0,
    ),
)
