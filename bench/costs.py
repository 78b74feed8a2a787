"""What an execution costs, in microseconds of processor time: by stage and by process.

A backlog of one-time webhooks passes its three stages one after the other: the tasks are created
by the bulk API, their executions are prepared ahead of the due time, and from shortly before the
due time on they are handed out, delivered and recorded. With ``--statements`` PostgreSQL counts the
time of each statement too, which itself costs a few microseconds. The receiver's cost is shown, but
not part of the sum. With ``--tenants`` the same backlog is that of many tenants, which saturate the
workers together.
Run: ``python -m bench.costs --count 60000 --statements`` (``--tenants 100``).
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

import psycopg

from bench import command_line, report
from bench.costs_tenants import ManyTenants
from bench.installation import InstallationError
from bench.peers import target
from bench.peers.contender import CouldNotRunError
from bench.peers.figures import TARGET
from bench.peers.plan import Plan
from bench.peers.punctual import Punctual
from bench.peers.target import Target, await_calls
from bench.processes import usage
from operations.proof.oracle import to_text
from shared.conf import Conf

CREATE, PREPARE, RUN = "create", "prepare", "run"
#: Tasks that a bulk call makes a second, on the cautious side.
_CREATED_PER_SECOND = 1500.0
#: Bulk calls that are made a second, on the cautious side: one for each of many tenants.
_CALLS_PER_SECOND = 40.0
_WARM_UP = 2000
_RESTART_SECONDS = 30.0
_STALL_SECONDS = 60.0
_TOLD_STATEMENTS = 12
#: Preparing ends this long before the due time: the first are handed out soon after.
_PREPARED_SECONDS = Conf().release_seconds + 0.5
_PREPARED = "SELECT count(*) FROM executions WHERE scheduled_for = %s::timestamptz"
#: Errors that are reported in one line instead of a traceback, besides those of every report.
_COULD_NOT_RUN = (CouldNotRunError, psycopg.Error, http.client.HTTPException, SubprocessError)
#: A statement by its first words, or by the comment before them where the server keeps that.
_STATEMENTS = """
SELECT left(regexp_replace(query, '\\s+', ' ', 'g'), 70), calls, rows,
       total_exec_time + total_plan_time
FROM pg_stat_statements ORDER BY 4 DESC LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a stage cost: microseconds per execution by kind of process, and in PostgreSQL."""

    name: str
    seconds: float
    microseconds: dict[str, float]
    #: Statement, calls, rows, microseconds per execution; the dearest first.
    statements: list[tuple[str, int, int, float]] = field(default_factory=list)

    @property
    def total(self) -> float:
        """Microseconds per execution of all processes but the receiver."""
        return sum(each for kind, each in self.microseconds.items() if kind != TARGET)

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {
            "seconds": round(self.seconds, 2),
            "microseconds": self.microseconds,
            "sum": round(self.total, 1),
            "statements": [
                {"statement": text, "calls": calls, "rows": rows, "microseconds": each}
                for text, calls, rows, each in self.statements
            ],
        }


class Meter:
    """Measures one stage after the other of a backlog of ``count`` executions."""

    def __init__(
        self, kinds: dict[int, str], count: int, statements: psycopg.Connection[Any] | None
    ):
        self._kinds = kinds
        self._count = count
        self._statements = statements
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure the block as a stage."""
        if self._statements is not None:
            self._statements.execute("SELECT pg_stat_statements_reset()")
        before, began = usage(self._kinds), time.monotonic()
        yield
        seconds = time.monotonic() - began
        spent = usage(self._kinds).cpu_since(before)
        each = {kind: self._each(cpu * 1e6) for kind, cpu in spent.items() if cpu}
        self.stages.append(Stage(name, seconds, each, self._dearest()))

    def _each(self, microseconds: float) -> float:
        return round(microseconds / self._count, 1)

    def _dearest(self) -> list[tuple[str, int, int, float]]:
        if self._statements is None:
            return []
        found = self._statements.execute(_STATEMENTS.encode(), (_TOLD_STATEMENTS,)).fetchall()
        return [(text, calls, rows, self._each(ms * 1000)) for text, calls, rows, ms in found]


def measure(product: Punctual, receiver: Target, chosen: argparse.Namespace) -> list[Stage]:
    """Let a backlog pass its stages; CouldNotRunError when they overlap or it does not end."""
    ahead = product.ahead_seconds
    with ExitStack() as stack:
        statements = stack.enter_context(counting(product)) if chosen.statements else None
        meter = Meter(product.kinds() | {receiver.pid: TARGET}, chosen.count, statements)
        warm_up = _plan(receiver, _WARM_UP, ahead, chosen.tenants)
        product.schedule(warm_up)
        _pass_on(product, warm_up, receiver)
        receiver.reset()
        plan = _plan(receiver, chosen.count, ahead, chosen.tenants)
        with meter.stage(CREATE):
            product.schedule(plan)
        _wait_until(plan.at_ms / 1000 - ahead)
        with meter.stage(PREPARE):
            _wait_until(plan.at_ms / 1000 - _PREPARED_SECONDS)
        _require_prepared(product, plan)
        with meter.stage(RUN):
            _pass_on(product, plan, receiver)
    return meter.stages


def _plan(receiver: Target, count: int, ahead: float, tenants: int) -> Plan:
    calls = 0 if tenants == 1 else min(count, tenants)
    lead = count / _CREATED_PER_SECOND + calls / _CALLS_PER_SECOND + ahead + 5.0
    return Plan(receiver.url, count, round((time.time() + lead) * 1000))


def _require_prepared(product: Punctual, plan: Plan) -> None:
    """Refuse to count as running what is still to be prepared."""
    with product.session() as session:
        due = to_text(plan.at_ms)
        prepared = session.execute(_PREPARED.encode(), (due,)).fetchall()[0][0]
    if prepared < plan.count:
        raise CouldNotRunError(f"{prepared} of {plan.count} executions were prepared in time")


def _pass_on(product: Punctual, plan: Plan, receiver: Target) -> None:
    """Wait until everything has arrived and is recorded."""
    _wait_until(plan.at_ms / 1000)
    arrived = await_calls(receiver, plan.count, stall_seconds=_STALL_SECONDS, look_seconds=0.1)
    if arrived < plan.count:
        raise CouldNotRunError(f"{arrived} of {plan.count} webhooks arrived")
    recorded = product.recorded(plan).count
    if recorded < plan.count:
        raise CouldNotRunError(f"{recorded} of {plan.count} executions were recorded")


def _wait_until(moment: float) -> None:
    left = moment - time.time()
    if left < -1.0:
        raise CouldNotRunError(f"a stage was {-left:.1f} s late: the stages overlap")
    threading.Event().wait(max(0.0, left))


def counting(product: Punctual) -> psycopg.Connection[Any]:
    """Let PostgreSQL count what its statements cost; return a session that can ask for it.

    The server is ended for that, and the supervisor starts it again.
    """
    with product.session() as session:
        session.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'")
        data = session.execute("SHOW data_directory").fetchall()[0][0]
    os.kill(int(Path(data, "postmaster.pid").read_text(encoding="utf-8").split()[0]), signal.SIGINT)
    deadline = time.monotonic() + _RESTART_SECONDS
    while True:
        try:
            found = _counted(product)
        except psycopg.Error as error:
            if time.monotonic() > deadline:
                raise CouldNotRunError(f"PostgreSQL does not count statements: {error}") from error
            threading.Event().wait(0.5)
        else:
            product.look()
            return found


def _counted(product: Punctual) -> psycopg.Connection[Any]:
    found = product.session()
    try:
        found.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        # Refused by a server that was started without the library.
        found.execute("SELECT count(*) FROM pg_stat_statements")
        # By default the time of planning is not counted.
        found.execute("ALTER SYSTEM SET pg_stat_statements.track_planning = on")
        found.execute("SELECT pg_reload_conf()")
    except psycopg.Error:
        found.close()
        raise
    return found


def lines_of(stages: list[Stage]) -> list[str]:
    """Return the figures for people."""
    lines = []
    for stage in stages:
        told = sorted(stage.microseconds.items(), key=lambda item: -item[1])
        lines.append(f"{stage.name}: {stage.total:.0f} µs each, {stage.seconds:.1f} s")
        lines += [f"  {kind:<14} {each:8.1f} µs" for kind, each in told if each >= 0.1]
        lines += [
            f"    {each:7.1f} µs  {calls:>6} calls  {rows:>8} rows  {text}"
            for text, calls, rows, each in stage.statements
        ]
    return lines


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options; SystemExit for a backlog of nothing."""
    parser = argparse.ArgumentParser(prog="python -m bench.costs", description=__doc__)
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument(
        "--tenants", type=command_line.above_zero, default=1, help="that share the backlog evenly"
    )
    parser.add_argument("--statements", action="store_true", help="also of PostgreSQL's statements")
    report.add_arguments(parser)
    chosen = parser.parse_args(arguments)
    if chosen.count < 1:
        parser.error("--count has to be 1 or more")
    if chosen.count < chosen.tenants:
        parser.error("--count has to be at least the number of tenants")
    return chosen


def main(arguments: list[str]) -> int:
    """Run the report; InstallationError when it could not run to its end."""
    chosen = options(arguments)
    with tempfile.TemporaryDirectory() as scratch, target.running() as receiver:
        product = Punctual() if chosen.tenants == 1 else ManyTenants(chosen.tenants)
        try:
            product.start(Path(scratch))
            stages = measure(product, receiver, chosen)
        except _COULD_NOT_RUN as error:
            raise InstallationError(str(error)) from error
        finally:
            product.stop()
    figures = {
        "count": chosen.count,
        "tenants": chosen.tenants,
        "stages": {one.name: one.as_json() for one in stages},
    }
    # By another name: pages are written from the last result of a single tenant.
    name = "costs" if chosen.tenants == 1 else "costs-tenants"
    report.publish(name, figures, lines_of(stages), chosen)
    return 0


if __name__ == "__main__":
    command_line.run(main)
