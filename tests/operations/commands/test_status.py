from __future__ import annotations

import io
import math

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError

from operations.management.commands import status as command
from operations.status import Status
from tests.support.command_calls import call
from tests.support.command_documents import read_document

HEALTHY = Status(
    due=1,
    late=0,
    queued=2,
    running=3,
    retrying=4,
    succeeded_last_hour=5,
    failed_last_hour=6,
    start_delay_ms={"p50": 2.0, "p95": 500.0, "p99": math.inf},
    dead_letters_open=7,
    schedulers=1,
    workers=2,
    worker_slots=1024,
    recorders=1,
    partitions_owned=256,
    partitions_total=256,
    refused={"outcomes": 8, "starts": 9, "leases": 128},
    tenants={"parked": 10, "own_workers": 11},
    problems=[],
)


def _run(*words: str) -> str:
    out = io.StringIO()
    call_command("status", *words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_a_healthy_installation_is_one_screen_and_exit_code_0(monkeypatch):
    monkeypatch.setattr(command, "read_status", lambda: HEALTHY)

    lines = _run().splitlines()
    document = read_document("status", _run("--json"))

    assert lines[0] == "healthy"
    assert "p50 ≤ 2 ms · p95 ≤ 500 ms · p99 > 60 s" in "\n".join(lines)
    assert "outcomes 8 · starts 9 · leases 128" in "\n".join(lines)
    assert "10 for destinations (limits, circuits) · 11 for own workers" in lines[-1]
    assert len(lines) <= 24
    assert all(len(line) <= 80 for line in lines)
    assert (document["schema"], document["healthy"], document["queued"]) == (1, True, 2)


@pytest.mark.django_db
def test_an_unhealthy_one_says_why_and_exits_with_1():
    out = io.StringIO()

    with pytest.raises(SystemExit) as left:
        call_command("status", stdout=out, stderr=io.StringIO())

    assert left.value.code == 1
    assert out.getvalue().startswith("NOT HEALTHY\n  ✘ 0 of 256 partitions")


def test_a_database_that_is_away_exits_with_5(monkeypatch):
    def away() -> Status:
        raise OperationalError("connection refused")

    monkeypatch.setattr(command, "read_status", away)

    with pytest.raises(CommandError, match=r"cannot be reached\. connection refused") as raised:
        _run()

    assert raised.value.returncode == 5


def _watch(monkeypatch, *words: str, looks: int = 2) -> tuple[int, str]:
    """Watch until so many looks were made, then press Ctrl-C."""
    left = iter(range(looks - 1))

    def pause(seconds: float) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "read_status", lambda: HEALTHY)
    monkeypatch.setattr(command, "_pause", pause)
    said = call("status", "--watch", *words)
    return said.code, said.out


@pytest.mark.django_db
def test_watching_prints_a_line_per_look_until_it_is_interrupted(monkeypatch):
    code, out = _watch(monkeypatch, "0.5", "--jsonl", looks=3)

    lines = out.splitlines()
    assert (code, len(lines)) == (130, 3)
    assert all("at" in read_document("status", line) for line in lines)


def test_watching_on_a_terminal_draws_the_screen_anew(monkeypatch):
    assert _watch(monkeypatch)[1].count("healthy") == 2
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr("io.StringIO", lambda: screen)

    assert _watch(monkeypatch)[1].count("\x1b[H\x1b[2J") == 2


@pytest.mark.parametrize("words", [("--watch", "--json"), ("--watch", "0")])
def test_watching_that_cannot_be_meant_exits_with_2(words):
    assert call("status", *words).code == 2
