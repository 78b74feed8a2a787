from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.peers import install
from bench.peers.contender import CouldNotRunError
from tests.architecture.rules import requirements


class Machine:
    """Programs that do nothing, or fail."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.fails = False

    def run(self, command: Sequence[str], **options: object) -> subprocess.CompletedProcess[str]:
        self.commands.append(" ".join(command))
        Path(str(options["cwd"])).mkdir(parents=True, exist_ok=True)
        install.PYTHON_PLACE.mkdir(parents=True, exist_ok=True)
        return subprocess.CompletedProcess(command, int(self.fails), "", "no network")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    found = Machine()
    monkeypatch.setattr(subprocess, "run", found.run)
    monkeypatch.setattr(install, "PYTHON_PLACE", tmp_path / "python")
    monkeypatch.setattr(install, "NODE_PLACE", tmp_path / "node")
    monkeypatch.setattr(shutil, "which", lambda program: f"/usr/bin/{program}")
    return found


def test_what_is_installed_is_not_installed_again(machine: Machine):
    assert install.ensure(["python", "node", ""]) == {}
    first = len(machine.commands)

    assert install.ensure(["python", "node"]) == {}

    assert first == 3
    assert len(machine.commands) == first


def test_other_versions_are_installed_anew(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    install.ensure_python()
    before = len(machine.commands)
    install.mark(install.PYTHON_PLACE, "procrastinate==0.1\n")

    install.ensure_python()

    assert len(machine.commands) == 2 * before


def test_a_failed_install_is_told_and_tried_again(machine: Machine):
    machine.fails = True
    assert "no network" in install.ensure(["node"])["node"]

    machine.fails = False
    assert install.ensure(["node"]) == {}


def test_without_node_its_peers_could_not_run(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)

    with pytest.raises(CouldNotRunError, match="node is not installed"):
        install.ensure_node()


def test_scripts_are_copied_beside_their_modules_at_every_start(machine: Machine):
    install.ensure_node()
    (install.NODE_PLACE / "bullmq.mjs").write_text("old")

    install.ensure_node()

    source = install.NODE_SOURCES / "bullmq.mjs"
    assert (install.NODE_PLACE / "bullmq.mjs").read_text() == source.read_text()


def test_the_requirements_are_exact_and_explained():
    assert not requirements.requirement_form(install.REQUIREMENTS.read_text())


def test_the_modules_of_node_are_exact():
    described = json.loads((install.NODE_SOURCES / "package.json").read_text())

    assert described["dependencies"]
    for version in described["dependencies"].values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
