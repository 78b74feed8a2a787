"""A storm over a running installation: processes die, and every instant is accounted for."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_documents import read_document
from tests.support.installation import Installation, installation
from tests.support.waiting import until

pytestmark = pytest.mark.slow

_PATIENCE_SECONDS = 400
_STORM = ("storm", "--kill", "scheduler,worker,recorder", "--rate", "15", "--yes")


@pytest.fixture(scope="module")
def punctual() -> Iterator[Installation]:
    # Short, and reachable for the account that the servers run under when started by root.
    with tempfile.TemporaryDirectory(prefix="punctual-storm-") as directory:
        Path(directory).chmod(0o755)
        with installation(Path(directory) / "var") as made:
            made.start()
            yield made
            made.stop()


def tenants(punctual: Installation) -> str:
    return punctual.manage("tenant", "list").stdout


def test_whatever_is_killed_nothing_is_missed_and_nothing_is_left(punctual: Installation):
    words = ("--minutes", "0.45", "--every", "6", "--seed", "1", "--json")

    done = punctual.manage(*_STORM, *words, timeout=_PATIENCE_SECONDS)

    told = read_document("storm", done.stdout)
    assert {one["kind"] for one in told["strikes"]} == {"scheduler", "worker", "recorder"}, told
    assert told["expected"] == told["run"] > 250, told
    assert told["missed"] == told["early"] == 0, told
    assert told["duplicate"] == told["duplicate_attributed"] <= told["in_flight_at_strikes"], told
    # A machine that is busy with other tests may take longer to start processes again.
    assert all("takeover" in sentence for sentence in told["broken"]), told
    assert done.returncode == (1 if told["broken"] else 0)
    assert "storm-" not in tenants(punctual)
    assert list((punctual.data_dir / "ledgers").iterdir()) == []


def test_a_storm_that_is_interrupted_leaves_nothing(punctual: Installation):
    with punctual.popen(*_STORM, "--minutes", "5") as storm:
        until(lambda: "storm-" in tenants(punctual))
        storm.send_signal(signal.SIGINT)
        assert storm.wait(_PATIENCE_SECONDS) == 130

    assert "storm-" not in tenants(punctual)
