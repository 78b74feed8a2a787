"""Dead letters for the tests of commands, and a system worker that works while they wait."""

from __future__ import annotations

from typing import Any

import pytest

from executions.bulk.jobs import run_some
from executions.models import BulkJob, DeadLetter
from operations.bulk import runs
from tenants.models import Tenant
from tests.factories import make_dead_letter


def make_letters(tenant: Tenant, count: int) -> list[DeadLetter]:
    """Return letters of one cause, oldest first."""
    return [make_dead_letter(tenant) for _ in range(count)]


def work_while_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the jobs go on whenever a command pauses to look again."""

    def work() -> None:
        for job in BulkJob.objects.active():
            run_some(job.id)

    monkeypatch.setattr(runs, "_pause", work)


def states(letters: list[DeadLetter]) -> list[Any]:
    """Return the letters' resolutions as they are stored now; None for one that is gone."""
    now = dict(DeadLetter.objects.values_list("id", "resolution"))
    return [now.get(letter.id) for letter in letters]
