from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from worker.programs import launcher

LAUNCHER = str(Path(launcher.__file__))


def launch(*words: str, memory: int = 0) -> tuple[subprocess.CompletedProcess[bytes], bytes]:
    """Run the launcher as the worker does; return its end and what the status pipe said."""
    told, status = os.pipe()
    try:
        found = subprocess.run(
            [
                sys.executable,
                "-I",
                "-S",
                LAUNCHER,
                str(status),
                str(memory),
                str(os.getpid()),
                *words,
            ],
            pass_fds=(status,),
            capture_output=True,
            check=False,
        )
    finally:
        os.close(status)
    with os.fdopen(told, "rb") as pipe:
        return found, pipe.read()


def test_it_becomes_the_program_and_says_nothing():
    found, said = launch("/bin/echo", "a", "b c")

    assert (found.stdout, found.returncode, said) == (b"a b c\n", 0, b"")


def test_the_limits_hold_in_the_program():
    found, _ = launch("/bin/sh", "-c", "ulimit -v; ulimit -c", memory=512 * 1024 * 1024)

    assert found.stdout.split() == [b"524288", b"0"]


def test_the_status_pipe_is_not_open_in_the_program():
    found, _ = launch("/bin/sh", "-c", "ls /proc/$$/fd")

    assert found.stdout.split() == [b"0", b"1", b"2"]


def test_what_keeps_it_from_starting_is_said():
    found, said = launch("/no/such/program")

    assert found.returncode == 127
    assert b"No such file" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another account")
def test_it_becomes_the_account_for_good_and_still_dies_with_the_worker():
    script = "id -u; id -g; id -G; grep -h -e ^Uid -e ^CapPrm /proc/self/status"

    found, said = launch("--account=65532:65531:65530,65529", "/bin/sh", "-c", script)

    uid, gid, groups, uids, capabilities = found.stdout.decode().splitlines()
    assert (uid, gid, groups, said) == ("65532", "65531", "65531 65529 65530", b"")
    assert uids.split()[1:] == ["65532"] * 4
    assert int(capabilities.split()[1], 16) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may become another account")
def test_an_account_that_cannot_be_become_keeps_it_from_starting():
    found, said = launch("--account=65532:65532:", "/bin/echo", "a")

    assert (found.stdout, found.returncode) == (b"", 127)
    assert b"not permitted" in said
