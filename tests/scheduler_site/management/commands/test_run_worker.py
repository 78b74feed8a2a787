from __future__ import annotations

from typing import Any

import pytest
from django.core.management import call_command

from scheduler_site.celery import app
from scheduler_site.management.commands import run_worker
from shared.clock_watch import ClockWatch


class Started:
    """A worker that would have been started: what it was told, and how it asks the broker."""

    argv: list[str]
    copies: bool


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Started:
    """Start nothing, note what would be; the process is as it was afterwards."""
    # What the command changes for its process, named so that it is put back.
    settings.WORKER_POOL, settings.PUNCTUAL = settings.WORKER_POOL, settings.PUNCTUAL
    options = app.conf.broker_transport_options
    monkeypatch.setitem(options, "ack_emulation", None)
    noted = Started()

    def worker_main(argv: list[str]) -> None:
        noted.argv, noted.copies = argv, options["ack_emulation"]

    monkeypatch.setattr(app, "worker_main", worker_main)
    monkeypatch.setattr(ClockWatch, "start", lambda self: None)
    monkeypatch.setattr(run_worker, "collect_seldom", lambda: None)
    monkeypatch.setattr(run_worker, "take_short_turns", lambda: None)
    return noted


def test_a_pools_worker_takes_its_queues_in_order_and_leaves_no_copy_in_the_broker(
    started: Started,
) -> None:
    call_command("run_worker", "--pool", "reports")

    assert "--queues=reports.high,reports.normal,reports.low" in started.argv
    assert started.copies is False


def test_the_systems_jobs_stay_in_the_broker_until_they_are_acknowledged(started: Started) -> None:
    call_command("run_worker", "--pool", "system")

    assert "--queues=system" in started.argv
    assert started.copies is True
