from __future__ import annotations

import subprocess
import sys

import pytest
from django.core.management import call_command

from launcher.management.commands import down
from launcher.run_lock import holder

HOLD = (
    "import pathlib, signal, sys; from launcher.run_lock import RunLock\n"
    "signal.signal(signal.SIGTERM, {handler})\n"
    "with RunLock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()\n"
)


@pytest.fixture
def running(tmp_path, monkeypatch, request):
    """Return a process that holds the lock and treats SIGTERM as the test asks."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    program = HOLD.format(handler=request.param)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.parametrize("running", ["lambda *_: sys.exit(0)"], indirect=True)
def test_running_supervisor_is_ended_and_waited_for(running, tmp_path, capsys):
    call_command("down")

    assert holder(tmp_path) is None
    assert running.wait(10) == 0
    assert "Punctual has stopped" in capsys.readouterr().out


@pytest.mark.parametrize("running", ["signal.SIG_IGN"], indirect=True)
def test_supervisor_that_does_not_end_is_exit_code_seven(running, monkeypatch, capsys):
    monkeypatch.setattr(down, "WAIT_SECONDS", 0.1)

    with pytest.raises(SystemExit) as caught:
        call_command("down")

    assert caught.value.code == 7
    assert f"pid {running.pid}" in capsys.readouterr().err


def test_nothing_that_runs_is_said_and_is_no_failure(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "never used"))

    call_command("down")

    said = capsys.readouterr().out
    assert f"not running on the data directory {tmp_path / 'never used'}." in said
    assert "DATA_DIR=" in said
    assert not (tmp_path / "never used").exists()
