from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from launcher import fork_server

LOADED = """
import sys, threading
from launcher.fork_server import LIBRARIES
before = set(sys.modules)
for library in LIBRARIES:
    __import__(library)
from django.conf import settings
ours = {"shared", "events", "tenants", "tasks", "executions", "notifications", "dashboard"}
print(settings.configured, threading.active_count())
print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] in ours))
"""


def test_what_is_loaded_ahead_reads_no_setting_and_starts_no_thread():
    # Settings that cannot be read: whatever asks for one fails.
    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        env={"DJANGO_SETTINGS_MODULE": "there.are.none"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout.split("\n")[:2] == ["False 1", "[]"]


def test_each_library_is_named_once():
    assert len(set(fork_server.LIBRARIES)) == len(fork_server.LIBRARIES)


@pytest.mark.parametrize("said", [b"", fork_server.HEADER.pack(100) + b"{"])
def test_it_ends_with_whoever_it_was_to_fork_for(said: bytes):
    ours, theirs = socket.socketpair()
    number = str(theirs.fileno())
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "launcher.fork_server", number],
            cwd=Path(fork_server.__file__).parent.parent,
            env={"PATH": os.defpath},
            pass_fds=[theirs.fileno()],
        )
    ours.sendall(said)
    ours.close()

    assert server.wait(timeout=60.0) == 0
