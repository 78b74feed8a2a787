"""Breaks of a demo as a person makes them: nothing is lost, nothing doubled, and all is back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_documents import read_document
from tests.support.installation import Installation, installation

pytestmark = pytest.mark.slow

_PATIENCE_SECONDS = 300


@pytest.fixture(scope="module")
def punctual() -> Iterator[Installation]:
    with tempfile.TemporaryDirectory(prefix="punctual-demo-") as directory:
        Path(directory).chmod(0o755)
        with installation(Path(directory) / "var") as made:
            # One worker: the calls that are under way at every moment are those of the killed one.
            made.start(DEMO="true", SCHEDULERS="2", WORKERS="1")
            yield made
            made.stop()


def broken(punctual: Installation, kind: str) -> dict[str, Any]:
    done = punctual.manage("demo", "break", kind, "--json", timeout=_PATIENCE_SECONDS)
    told = read_document("demo-break", done.stdout)
    assert (done.returncode, told["kept"], told["phase"]) == (0, True, "over"), (told, done.stderr)
    assert told["counts"]["succeeded"] == told["counts"]["arrived"] == 360, told
    return told


def texts(told: dict[str, Any]) -> str:
    return "\n".join(one["text"] for one in told["moments"])


def test_a_killed_scheduler_is_taken_over_and_started_again(punctual: Installation):
    told = texts(broken(punctual, "scheduler"))

    assert "was killed" in told
    assert " took over " in told
    assert "The supervisor started scheduler-" in told


def test_a_killed_workers_calls_are_given_back(punctual: Installation):
    told = broken(punctual, "worker")

    assert told["counts"]["lost_attempts"] > 0
    assert "Given back, to be tried again" in texts(told)
    assert told["recovered_after_seconds"] > 0


def test_a_receiver_that_fails_opens_the_circuit_and_closes_it(punctual: Installation):
    told = broken(punctual, "receiver-fails")

    assert told["counts"]["retries"] > 0
    assert "The circuit opened" in texts(told)
    assert "The circuit closed" in texts(told)
