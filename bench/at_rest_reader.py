"""Works off backlogs without and beside a transaction that stays open.

VACUUM keeps every row that the transaction could still see, so statements on the ledger step over
more and more dead rows. The rate of the last backlog beside it is compared with the first one's.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import psycopg

from bench import installation
from bench.at_rest_tables import settle
from bench.installation import Installation, InstallationError
from bench.limits_cost import work_off
from operations.proof.campaign import Receiver

#: What is left of the rate of the first backlog in the last one.
TARGET_LAST = 0.8
READER = "at-rest-reader"
#: From this age on the doctor has to name the transaction.
TOLD_SECONDS = 60.0
_HOSTS = 2
_WARM_UP = 1000


@dataclass(slots=True)
class Backlogs:
    """Executions a second of each backlog, and what the doctor said in the end."""

    count: int
    without: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    reader_seconds: float = 0.0
    doctor_verdict: str = ""
    doctor_evidence: str = ""

    @property
    def last_to_first(self) -> float:
        """Return how much of the first backlog's rate is left beside the transaction."""
        return self.beside[-1] / self.beside[0]

    def faults(self) -> list[str]:
        """Return a line for the target if it was missed, and for a doctor that told nothing."""
        found = []
        if self.last_to_first < TARGET_LAST:
            left = f"{self.last_to_first:.2f}, not {TARGET_LAST:g}"
            found.append(f"target missed: last backlog to first beside a transaction {left}")
        told = self.doctor_verdict != "ok" and READER in self.doctor_evidence
        if self.reader_seconds > TOLD_SECONDS and not told:
            found.append(f"the doctor does not name the transaction: {self.doctor_evidence}")
        return found

    def lines(self) -> list[str]:
        """Return the figures for people."""
        said = "kept" if self.last_to_first >= TARGET_LAST else "missed"
        return [
            f"backlogs of {self.count}, executions a second: {_listed(self.without)}",
            f"beside a transaction, {self.reader_seconds:.0f} s in the end: {_listed(self.beside)}",
            f"  last to first {self.last_to_first:.2f} (target {TARGET_LAST:g})  {said}",
            f"  the doctor: {self.doctor_verdict}, {self.doctor_evidence}",
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the figures for the stored result."""
        return {**asdict(self), "last_to_first": round(self.last_to_first, 3)}


def work_off_all(product: Installation, address: str, rounds: int, count: int) -> Backlogs:
    """Work off ``rounds`` backlogs of ``count`` executions, and as many beside a transaction."""
    found = Backlogs(count)
    with ExitStack() as stack:
        targets = [stack.enter_context(installation.receiver()) for _ in range(_HOSTS)]
        work_off(product, targets, min(_WARM_UP, count), None)
        _work_off(product, targets, rounds, found.without, count)
        settle(address)
        begun = time.monotonic()
        with reading(address):
            _work_off(product, targets, rounds, found.beside, count)
            found.reader_seconds = time.monotonic() - begun
            found.doctor_verdict, found.doctor_evidence = doctor_says(product)
    return found


@contextmanager
def reading(address: str) -> Iterator[None]:
    """Keep the snapshot of one transaction for the block, as a dump or a long report does.

    InstallationError where the server has ended it meanwhile, and nothing was held back.
    """
    try:
        with psycopg.connect(address, application_name=READER) as reader:
            reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            reader.execute("SELECT count(*) FROM tenants")
            yield
            reader.execute("SELECT 1")
    except psycopg.Error as error:
        raise InstallationError(f"the transaction that was to stay open: {error}") from error


def doctor_says(product: Installation) -> tuple[str, str]:
    """Return verdict and evidence of the doctor about open transactions."""
    done = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        cwd=installation.CHECKOUT,
        env=product.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if not done.stdout:
        raise InstallationError(f"manage.py doctor failed: {done.stderr[-500:]}")
    checks = {one["check"]: one for one in json.loads(done.stdout)["checks"]}
    found = checks["open transactions"]
    return found["verdict"], found["evidence"]


def _work_off(
    product: Installation, targets: Sequence[Receiver], rounds: int, rates: list[float], count: int
) -> None:
    for number in range(rounds):
        rates.append(round(work_off(product, targets, count, None), 1))
        print(f"backlog {number + 1}: {rates[-1]:.0f} executions a second", flush=True)


def _listed(rates: Sequence[float]) -> str:
    return ", ".join(f"{rate:.0f}" for rate in rates)
