from __future__ import annotations

import subprocess
import sys

import pytest

from bench.chaos import clock_files
from bench.chaos.clock_files import NoClocksError

ASK = "import time; print(time.time(), time.monotonic())"


@pytest.fixture
def library(tmp_path):
    try:
        return clock_files.build(tmp_path)
    except NoClocksError as error:
        pytest.skip(str(error))


def _asked(**environment):
    command = [sys.executable, "-c", ASK]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return tuple(float(word) for word in done.stdout.split())


def test_a_process_has_the_time_of_its_file_and_the_monotonic_clock_of_the_machine(
    tmp_path, library
):
    clock = tmp_path / "worker-1"
    clock_files.write(clock, -300.0)

    wrong, wrong_monotonic = _asked(**clock_files.environment(library, clock))
    right, monotonic = _asked()

    assert right - wrong == pytest.approx(300.0, abs=60.0)
    assert wrong_monotonic < monotonic


def test_a_clock_is_set_in_place(tmp_path):
    clock = tmp_path / "worker-1"
    clock_files.write(clock)
    before = clock.stat().st_ino
    clock_files.write(clock, 5.0, 0.1)

    assert clock.stat().st_ino == before
    assert clock_files.read(clock)[:2] == (5.0, 0.1)


def test_without_a_compiler_there_are_no_clocks(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)

    with pytest.raises(NoClocksError, match="compiler"):
        clock_files.build(tmp_path)
