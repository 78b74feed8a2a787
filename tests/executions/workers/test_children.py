from __future__ import annotations

import os
import subprocess
import sys

import pytest

from executions.workers.children import child_environment, die_with_parent, in_memory
from tests.support.liveness import lives
from tests.support.waiting import until


def test_a_child_finds_what_this_process_has_imported(monkeypatch):
    monkeypatch.setenv("FROM_THE_WORKER", "1")

    found = child_environment()

    assert found["FROM_THE_WORKER"] == "1"
    assert set(found["PYTHONPATH"].split(os.pathsep)) == {path for path in sys.path if path}


@pytest.mark.parametrize("data", [b"", b"payload", b"x" * 1_000_000])
def test_standard_input_from_memory(data):
    descriptor = in_memory(data)

    try:
        found = subprocess.run(["cat"], stdin=descriptor, capture_output=True, check=True)
    finally:
        os.close(descriptor)

    assert found.stdout == data


def test_a_process_ends_with_the_one_that_started_it():
    parent = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", '''
from executions.workers.children import die_with_parent
die_with_parent({{}})
print("bound", flush=True)
import time; time.sleep(600)
'''.format(os.getpid())], stdout=subprocess.PIPE, env={child_environment()!r})
child.stdout.readline()
print(child.pid, flush=True)
os._exit(0)
"""
    found = subprocess.run([sys.executable, "-c", parent], capture_output=True, check=True)

    child = int(found.stdout)
    until(lambda: not lives(child))


def test_a_process_whose_parent_has_gone_already_ends_at_once(monkeypatch):
    ended: list[int] = []
    monkeypatch.setattr("executions.workers.children.os._exit", ended.append)
    # Not for good: the test's own process must outlive its parent's thread.
    monkeypatch.setattr("executions.workers.children._PR_SET_PDEATHSIG", 2)

    die_with_parent(-1)

    assert ended == [1]
