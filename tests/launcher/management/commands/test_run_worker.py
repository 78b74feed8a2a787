from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from launcher.management.commands import run_worker
from scheduler_site.celery import app
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


def test_a_worker_does_not_start_whose_programs_have_no_account(
    started: Started, settings: Any
) -> None:
    settings.PUNCTUAL = replace(
        settings.PUNCTUAL, allowed_commands={"sh": "/bin/sh"}, command_user="no-such-user"
    )

    with pytest.raises(CommandError, match="no-such-user"):
        call_command("run_worker", "--pool", "commands")
    call_command("run_worker", "--pool", "default")

    assert "--queues=default.high,default.normal,default.low" in started.argv
