from __future__ import annotations

import os
import signal
import subprocess

from bench.processes import (
    Stat,
    Usage,
    alive,
    descendants,
    kill,
    kind_of,
    parse_stat,
    usage,
)


def test_names_with_spaces_and_parentheses_do_not_shift_the_fields():
    text = "42 (a (b) c) S 7 1 1 0 -1 4 1 2 3 4 100 20 30 4 20 0 1 0 99 1 1"

    assert parse_stat(text) == Stat(42, 7, 120, 34)


def test_a_process_counts_for_its_nearest_named_ancestor():
    stats = {
        1: Stat(1, 0, 0, 0),
        10: Stat(10, 1, 0, 0),
        11: Stat(11, 10, 0, 0),
        12: Stat(12, 11, 0, 0),
    }
    kinds = {10: "supervisor", 11: "postgresql"}

    assert kind_of(12, kinds, stats) == "postgresql"
    assert kind_of(10, kinds, stats) == "supervisor"
    assert kind_of(1, kinds, stats) is None


def test_usage_since_is_never_negative():
    earlier = Usage({"worker": 5.0}, {}, {})

    assert Usage({"worker": 1.0, "web": 2.0}, {}, {}).cpu_since(earlier) == {
        "web": 2.0,
        "worker": 0.0,
    }


def test_this_process_has_used_something():
    found = usage({os.getpid(): "tests"})

    assert found.cpu_seconds["tests"] > 0
    assert found.memory_bytes["tests"] > 0


def test_descendants_begin_with_the_process_itself():
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert descendants(os.getpid())[0] == os.getpid()
            assert child.pid in descendants(os.getpid())
        finally:
            child.kill()


def test_a_process_that_is_gone_has_no_descendants():
    assert descendants(2**22 + 1) == []


def test_a_process_that_runs_is_told_from_one_that_does_not():
    assert alive([os.getpid(), 2**22 + 1]) == [os.getpid()]


def test_a_kill_ends_a_process_with_its_children():
    shell = subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE)
    with shell:
        assert shell.stdout is not None
        child = int(shell.stdout.readline())

        killed = kill([shell.pid])

        assert shell.wait() == -signal.SIGKILL
    assert set(killed) == {shell.pid, child}
    assert alive([child]) == []
