"""Punctual itself: an installation of its own with every default, tasks by the bulk API."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from pathlib import Path
from typing import Any

import psycopg

from bench import installation
from bench.peers.contender import Contender, CouldNotRunError, Recorded
from bench.peers.figures import OWN
from bench.peers.plan import Plan, payload
from launcher import local_state
from operations.proof.client import ApiClient
from operations.proof.oracle import to_text
from shared.conf import Conf

#: Tasks created by a call: half of what one may hold.
BATCH = 5000
#: So long without any progress is the end of waiting for the recorder.
STALL_SECONDS = 30.0
_LOOK_SECONDS = 0.02
#: Index open_executions_leased_idx: cheap, however many executions there are.
_UNDER_WAY = "SELECT count(*) FROM executions WHERE status IN ('QUEUED', 'RUNNING')"
_SUCCEEDED = """
SELECT count(*) FROM executions
WHERE status = 'SUCCEEDED' AND scheduled_for BETWEEN %s::timestamptz AND %s::timestamptz
"""


class Punctual(Contender):
    """``manage.py up`` on free ports, with servers and data of its own.

    Its figures hold everything from the row of an execution in the ledger to its recorded end:
    rows are written some seconds ahead of their time.
    """

    name = OWN
    #: Every task is a definition with its audit entry and its encrypted payload.
    pace = 4000.0
    ahead_seconds = Conf().horizon_seconds + 1.0

    def start(self, scratch: Path) -> None:
        """Start the installation; its files are where every report's are."""
        self._product = self._stack.enter_context(installation.started())
        self.look()

    def look(self) -> None:
        """See what runs, and open a session: once, and again where a server was started anew."""
        # Not while something is measured: the command itself would disturb that.
        self._kinds = self._product.kinds()
        try:
            self._database = self.session()
        except psycopg.Error as error:
            raise CouldNotRunError(f"the database: {error}") from error
        self._stack.callback(self._database.close)

    def session(self) -> psycopg.Connection[Any]:
        """Return a session of the installation's database; psycopg.Error when it is away."""
        address = local_state.load_runtime(self.data_dir)["database_url"]
        return psycopg.connect(address, autocommit=True)

    @property
    def data_dir(self) -> Path:
        """Where the installation keeps its state."""
        return Path(self._product.environment["DATA_DIR"])

    def schedule(self, plan: Plan) -> None:
        """Create a one-time task for each call."""
        asyncio.run(create(self._product, plan))

    def recorded(self, plan: Plan) -> Recorded:
        """Wait until no execution is under way, and count what has succeeded."""
        self._until_recorded()
        at_ns = time.time_ns()
        first, last = (to_text(plan.due_ms(number)) for number in (0, plan.count - 1))
        return Recorded(self._number(_SUCCEEDED, first, last), at_ns)

    def kinds(self) -> dict[int, str]:
        """Return the processes as ``manage.py ps`` names them."""
        return dict(self._kinds)

    def versions(self) -> dict[str, str]:
        """Return nothing: the result tells the versions of this checkout anyway."""
        return {}

    def _until_recorded(self) -> None:
        pause = threading.Event()
        seen, changed = -1, time.monotonic()
        while left := self._number(_UNDER_WAY):
            if left != seen:
                seen, changed = left, time.monotonic()
            elif time.monotonic() - changed > STALL_SECONDS:
                return
            pause.wait(_LOOK_SECONDS)

    def _number(self, statement: str, *values: str) -> int:
        try:
            row: Any = self._database.execute(statement.encode(), values).fetchone()
        except psycopg.Error as error:
            raise CouldNotRunError(f"the database: {error}") from error
        return int(row[0])


async def create(product: installation.Installation, plan: Plan) -> None:
    """Create a one-time task for each call of the plan; ApiError unless all were created."""
    async with ApiClient(product.base_url, product.api_key, concurrency=1) as client:
        for numbers in plan.batches(BATCH):
            body = {"tasks": [task(plan, number) for number in numbers], "atomic": True}
            key = secrets.token_hex(16)
            # All or none: this status says that all were created.
            await client.expect(200, "POST", "/v1/tasks/bulk", body, key=key)


def task(plan: Plan, number: int) -> dict[str, object]:
    """Return the one-time task for a call; what it does not say has its default."""
    return {
        "name": f"webhook {number}",
        "schedule": {"run_at": to_text(plan.due_ms(number))},
        "target": {"kind": "webhook", "url": plan.url_of(number), "method": "POST"},
        "payload": payload(number),
    }
