"""A rescue that finds a worker lost, without waiting for its silence."""

from __future__ import annotations

import pytest

from executions.complete.outcome_stream import ensure_group
from executions.ownership.partitions import Partitions
from executions.rescue import lost_workers
from executions.rescue.stage import Rescuer
from tests.factories import WORKER
from tests.support.beats import beat, silence


def lose_worker(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let the worker of tests fall silent, and rescue what it ran; return how many."""
    monkeypatch.setattr(lost_workers.Silence, "_answering", lambda *_: True)
    ensure_group()
    beat(WORKER)
    partitions = Partitions()
    partitions.run_once()
    rescuer = Rescuer(partitions)
    rescuer.run_once()
    silence(WORKER, 60)
    done = rescuer.run_once().done
    partitions.release_all()
    return done
