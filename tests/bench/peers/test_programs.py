from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.peers.contender import CouldNotRunError
from bench.peers.programs import Worker, run_script

Start = Callable[..., Worker]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a worker that runs this code."""
    running: list[Worker] = []

    def start(code: str, **options: Any) -> Worker:
        command = [sys.executable, "-c", code]
        running.append(Worker(command, dict(os.environ), tmp_path / "worker.log", **options))
        return running[-1]

    yield start
    for worker in running:
        worker.stop()


def test_a_worker_is_waited_for_until_it_says_the_word(start: Start):
    worker = start("import sys; print('it is ready', flush=True); sys.stdin.read()")

    worker.wait_for("ready")

    assert worker.pid > 0


def test_a_worker_that_ends_is_told_with_what_it_said(start: Start):
    worker = start("raise SystemExit('no database')")

    with pytest.raises(CouldNotRunError, match="ended with 1: no database"):
        worker.wait_for("ready")


def test_a_worker_that_stays_silent_is_not_waited_for_for_ever(start: Start):
    worker = start("import signal; signal.pause()")

    with pytest.raises(CouldNotRunError, match="is still silent"):
        worker.wait_for("ready", seconds=0.0)


def test_what_a_worker_has_started_ends_with_it(start: Start, tmp_path: Path):
    held = tmp_path / "held"
    os.mkfifo(held)
    child = f"import os, signal; os.open({str(held)!r}, os.O_WRONLY); signal.pause()"
    worker = start(
        "import signal, subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "signal.pause()"
    )
    # Opening waits for the child; reading ends when nobody holds the other end any more.
    with held.open("rb") as pipe:
        worker.stop()

        assert pipe.read() == b""


def test_a_worker_answers_what_it_is_told(start: Start):
    code = "import sys\nfor line in sys.stdin: print('got', line, flush=True)"
    worker = start(code, stdin=subprocess.PIPE)

    worker.tell("a plan")

    worker.wait_for("got a plan")


def test_a_worker_without_an_input_cannot_be_told_anything(start: Start):
    worker = start("import signal; signal.pause()")

    with pytest.raises(CouldNotRunError, match="no standard input"):
        worker.tell("a plan")


def test_a_script_gets_its_input_and_may_fail(tmp_path: Path):
    target = tmp_path / "said"
    code = f"import sys; open({str(target)!r}, 'w').write(sys.stdin.read())"

    run_script([sys.executable, "-c", code], dict(os.environ), "a plan")
    assert target.read_text() == "a plan"

    with pytest.raises(CouldNotRunError, match="broken"):
        run_script([sys.executable, "-c", "raise SystemExit('broken')"], dict(os.environ))
    with pytest.raises(CouldNotRunError, match="no-such-program"):
        run_script(["no-such-program"], {})
