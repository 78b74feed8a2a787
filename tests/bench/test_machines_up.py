from __future__ import annotations

import os
import sys

import pytest

from bench import machines_up
from bench.machines_up import MACHINES, command


def test_every_machine_has_an_address_and_a_namespace_of_its_own():
    assert len({host.address for host in MACHINES.values()}) == 2
    assert len({host.namespace for host in MACHINES.values()}) == 2


def test_up_runs_on_the_machine_under_the_machines_name():
    words = command("machine-2")

    assert words[:2] == ("nsenter", f"--net=/run/netns/{MACHINES['machine-2'].namespace}")
    assert "--uts" in words
    assert words[-4:] == ("machine-2", sys.executable, "manage.py", "up")


def test_the_program_becomes_up_and_keeps_its_process_id(monkeypatch: pytest.MonkeyPatch):
    became: list[tuple[str, ...]] = []
    monkeypatch.setattr(sys, "argv", ["machines_up", "machine-1"])
    monkeypatch.setattr(os, "execvp", lambda program, words: became.append((program, *words)))

    machines_up.main()

    assert became == [("nsenter", *command("machine-1"))]
