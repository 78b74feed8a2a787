from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading

import pytest

from launcher import run_lock
from launcher.run_lock import LOCK_FILE, AlreadyHeld, RunLock, holder, wait_free

HOLD = (
    "import pathlib, sys; from launcher.run_lock import RunLock\n"
    "with RunLock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()\n"
)


@pytest.fixture
def another_process(tmp_path):
    """Return a process that holds the lock until its input is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_lock_names_its_holder_and_is_free_afterwards(tmp_path):
    with RunLock(tmp_path):
        assert holder(tmp_path) == os.getpid()

    assert holder(tmp_path) is None


def test_lock_file_is_readable_by_its_owner_only(tmp_path):
    with RunLock(tmp_path):
        assert stat.S_IMODE((tmp_path / LOCK_FILE).stat().st_mode) == 0o600


def test_second_holder_is_refused_and_told_the_first(tmp_path, another_process):
    with pytest.raises(AlreadyHeld) as caught, RunLock(tmp_path):
        pass

    assert caught.value.pid == another_process.pid
    assert holder(tmp_path) == another_process.pid


def test_lock_of_a_killed_holder_is_free(tmp_path, another_process):
    another_process.kill()
    another_process.wait()

    with RunLock(tmp_path):
        assert holder(tmp_path) == os.getpid()


def test_question_in_passing_does_not_refuse_a_start(tmp_path, monkeypatch):
    monkeypatch.setattr(run_lock, "_QUESTION_SECONDS", 60)
    with RunLock(tmp_path):
        pass
    asking = threading.Event()
    done = threading.Event()

    def ask_without_end() -> None:
        while not done.is_set():
            holder(tmp_path)
            asking.set()

    asker = threading.Thread(target=ask_without_end)
    asker.start()
    asking.wait()
    try:
        for _ in range(20):
            with RunLock(tmp_path):
                pass
    finally:
        done.set()
        asker.join()


def test_directory_without_a_lock_file_is_free(tmp_path):
    assert holder(tmp_path / "never used") is None


def test_waiting_ends_with_the_holder(tmp_path, another_process):
    assert not wait_free(tmp_path, timeout=0.1)

    another_process.stdin.close()

    assert wait_free(tmp_path, timeout=10)


def test_module_run_as_a_program_answers_by_its_exit_code(tmp_path):
    command = [sys.executable, "-m", "launcher.run_lock", str(tmp_path)]

    assert subprocess.run(command, check=False).returncode == 0
    with RunLock(tmp_path):
        assert subprocess.run(command, check=False).returncode == 4


def test_a_link_in_place_of_the_lock_is_neither_taken_nor_emptied(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "up.lock").symlink_to(victim)

    with pytest.raises(OSError, match="link"), RunLock(tmp_path):
        pass
    with pytest.raises(OSError, match="link"):
        holder(tmp_path)

    assert victim.read_text() == "kept"
