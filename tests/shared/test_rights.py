from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared import rights
from shared.rights import Right

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="leaves root")
ROOT = Path(__file__).resolve().parents[2]
SHOW = "grep -h -e ^Uid -e ^Groups -e ^CapEff -e ^CapPrm -e ^CapAmb /proc/self/status"


def in_a_process(program: str) -> str:
    """Return what the program, which has imported our module, prints."""
    done = subprocess.run(
        [sys.executable, "-c", f"import os, sys\nfrom shared import rights\n{program}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_process_holds_is_read_from_the_kernel():
    assert rights.held() <= frozenset(Right)


@root_only
def test_root_holds_all_of_them():
    assert rights.held() == frozenset(Right)


@root_only
def test_nothing_of_root_is_left_in_what_has_left_it_and_in_what_it_starts():
    shown = in_a_process(
        f"rights.leave_root(4242, 4343, [4444], ())\nprint(len(rights.held()), flush=True)\n"
        f"os.execv('/bin/sh', ['sh', '-c', {SHOW!r}])"
    ).splitlines()

    assert shown[0] == "0"
    assert shown[1].split()[1:] == ["4242"] * 4
    assert shown[2].split()[1:] == ["4444"]
    assert [int(line.split()[1], 16) for line in shown[3:]] == [0, 0, 0]


@root_only
def test_a_right_that_is_kept_passes_to_what_is_started_until_it_is_given_up():
    shown = in_a_process(
        "rights.leave_root(4242, 4242, [], [rights.Right.NET_BIND_SERVICE])\n"
        f"os.spawnv(os.P_WAIT, '/bin/sh', ['sh', '-c', {SHOW!r}])\n"
        "rights.keep_only(())\n"
        f"os.execv('/bin/sh', ['sh', '-c', {SHOW!r}])"
    ).splitlines()

    kept = [int(line.split()[1], 16) for line in shown[2:5]]
    assert kept == [1 << Right.NET_BIND_SERVICE] * 3
    assert [int(line.split()[1], 16) for line in shown[7:]] == [0, 0, 0]


@root_only
def test_a_process_that_left_root_still_ends_with_its_parent():
    # PR_SET_PDEATHSIG is 1, PR_GET_PDEATHSIG 2.
    shown = in_a_process(
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.prctl(1, 9, 0, 0, 0)\n"
        "rights.leave_root(4242, 4242, [], ())\n"
        "found = ctypes.c_int()\nlibc.prctl(2, ctypes.byref(found), 0, 0, 0)\nprint(found.value)"
    )

    assert shown.strip() == "9"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may")
def test_who_is_not_root_cannot_become_another():
    with pytest.raises(PermissionError):
        rights.leave_root(4242, 4242, [], ())
