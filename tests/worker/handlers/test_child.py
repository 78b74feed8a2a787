"""The child's own side, without a worker; whole runs are tested with the host."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import Any

from worker.children import child_environment
from worker.handlers.frames import Channel, frame


def start() -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    with theirs:
        words = ["-m", "worker.handlers.child", str(theirs.fileno()), str(os.getpid())]
        child = subprocess.Popen(
            [sys.executable, *words],
            pass_fds=(theirs.fileno(),),
            env=child_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    return child, ours


def say(ours: socket.socket, document: Any) -> None:
    ours.sendall(frame(document, 10_000))


def hear(channel: Channel) -> Any:
    """Return what the process says: the test holds the worker's end."""
    return channel.receive()


def test_it_ends_with_the_worker_that_holds_the_other_end():
    child, ours = start()
    say(ours, {"modules": ["tests.support.sample_handlers"]})
    assert hear(Channel(ours)) == {"verb": "ready"}

    ours.close()

    assert child.wait(20) == 0


def test_a_module_that_breaks_is_told():
    child, ours = start()
    with ours:
        say(ours, {"modules": ["nowhere"]})

        said = hear(Channel(ours))

    assert said is not None
    assert said["verb"] == "broken"
    assert "nowhere" in said["message"]
    assert child.wait(20) == 1


def test_a_cancel_of_another_run_is_not_heard():
    child, ours = start()
    with ours:
        say(ours, {"modules": ["tests.support.sample_handlers"]})
        channel = Channel(ours)
        channel.receive()
        job = {
            "verb": "run",
            "token": 7,
            "handler": "polite",
            "execution_id": "e",
            "task_id": "t",
            "attempt": 1,
            "scheduled_for": "2026-11-20T08:00:00.000Z",
            "payload": None,
            "last_progress": None,
        }
        say(ours, {"verb": "cancel", "token": 7})
        say(ours, job)
        assert hear(channel) == {"verb": "progress", "value": "waiting"}
        say(ours, {"verb": "cancel", "token": 6})
        say(ours, {"verb": "cancel", "token": 7})

        said = hear(channel)

    assert said is not None
    assert said["result"] == "cancelled"
    child.wait(20)
