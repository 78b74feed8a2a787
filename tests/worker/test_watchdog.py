"""A loop that stops turning ends its process; one that turns does not."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from worker.watchdog import Watchdog


@pytest.mark.logs("worker_loop.stuck")
def test_it_gives_up_when_nothing_answers() -> None:
    gave_up = threading.Event()

    Watchdog(gave_up.set, every_seconds=0.01, looks=3).start()

    assert gave_up.wait(60)


def test_answers_keep_it_quiet_until_they_end() -> None:
    gave_up = threading.Event()
    watchdog = Watchdog(gave_up.set, every_seconds=0.01, looks=1_000_000)
    watchdog.start()

    watchdog.answer()
    watchdog.stop()

    assert not gave_up.is_set()


def test_stopping_asks_first_and_ends_at_once_after_the_grace() -> None:
    program = (
        "import signal, sys\n"
        "from worker.watchdog import stop_process\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True))\n"
        "stop_process(0.2)\n"
        "while True: signal.pause()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (ended.stdout, ended.returncode) == ("asked\n", 70)
