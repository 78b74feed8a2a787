"""Every requirement is locked by hash, and every install takes locked files only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from operations.bill_of_materials import read_lock
from tests.architecture import tree
from tests.architecture.rules import requirements

_NAMES = (
    "requirements-build",
    "requirements",
    "requirements-oidc",
    "requirements-otel",
    "requirements-dev",
)
_INSTALLS = re.compile(r"pip[\"']?,? *[\"']?install\b")
#: Files that install something else than Punctual, with the reason.
_ELSEWHERE = {
    ".ci/lock": "the tool that writes the lock files, in a place of its own",
    ".ci/vulnerabilities": "the tool that asks the database, in a place of its own",
    "bench/peers/install.py": "schedulers of others, for comparison; not a part of the product",
}
#: In place of Python: makes an environment of itself, and finds that packages do not fit.
_PYTHON = """#!/usr/bin/env bash
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *"pip check"*) echo "one does not fit"; exit 1 ;;
esac
"""


def _text(name: str) -> str:
    return (tree.REPOSITORY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", _NAMES)
def test_every_pin_is_locked_by_hash(name: str):
    locked = list(read_lock(_text(f"{name}.lock")))

    pins = requirements.pins(_text(f"{name}.txt"))
    assert {one.name: one.version for one in locked} == pins, "run make lock"
    assert len(locked) == len(pins)
    assert all(one.hashes for one in locked)


def test_markers_of_requirements_are_those_of_the_lock_files():
    for name in _NAMES:
        given = {line.split("==")[0] for line in _text(f"{name}.txt").splitlines() if " ; " in line}
        assert given == {one.name for one in read_lock(_text(f"{name}.lock")) if one.marker}


def test_the_installer_takes_locked_files_only():
    script = _text(".ci/install")

    assert script.count("-m pip install") == 1
    assert "--require-hashes --no-deps --no-build-isolation" in script


@pytest.mark.parametrize("is_new", [True, False], ids=["new", "with packages of others"])
def test_packages_that_do_not_fit_are_a_reason_to_refuse_in_a_new_environment_alone(
    is_new: bool, tmp_path: Path
):
    (tmp_path / ".ci").mkdir()
    for name in (".ci/install", "requirements-build.lock", "requirements.lock"):
        shutil.copy(tree.REPOSITORY / name, tmp_path / name)
    python = tmp_path / "python"
    python.write_text(_PYTHON)
    python.chmod(0o755)
    if not is_new:
        (tmp_path / ".venv" / "bin").mkdir(parents=True)
        shutil.copy(python, tmp_path / ".venv" / "bin" / "python")

    ended = subprocess.run(
        [tmp_path / ".ci" / "install", "requirements.txt"],
        env={"PATH": os.environ["PATH"], "PYTHON3": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "does not fit" in ended.stderr
    assert (ended.returncode != 0) is is_new
    assert (tmp_path / ".venv" / ".installed-requirements.txt").exists() is not is_new


#: In place of Python: makes an environment of itself, and writes down what it is to install.
_WRITING = """#!/usr/bin/env bash
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *"pip install"*) printf '%s\\n' "${@: -1}" >> installed ;;
esac
"""


@pytest.mark.parametrize(
    ("before", "wanted", "last"),
    [
        ((), "requirements.txt", "requirements.lock"),
        (("requirements.txt",), "requirements-otel.txt", "requirements-otel.lock"),
        # One extra is not the other, which has as many lock files.
        (("requirements-oidc.txt",), "requirements-otel.txt", "requirements-otel.lock"),
        (("requirements-otel.txt",), "requirements.txt", None),
        (("requirements-oidc.txt", "requirements-otel.txt"), "requirements-oidc.txt", None),
        (("requirements-oidc.txt", "requirements-otel.txt"), "requirements-dev.txt", "-dev.lock"),
        (("requirements-dev.txt",), "requirements-otel.txt", None),
    ],
)
def test_only_what_is_not_there_is_installed(
    before: tuple[str, ...], wanted: str, last: str | None, tmp_path: Path
):
    (tmp_path / ".ci").mkdir()
    for name in (".ci/install", *(f"{one}.lock" for one in _NAMES)):
        shutil.copy(tree.REPOSITORY / name, tmp_path / name)
    python = tmp_path / "python"
    python.write_text(_WRITING)
    python.chmod(0o755)

    def install(name: str) -> list[str]:
        installed = tmp_path / "installed"
        installed.unlink(missing_ok=True)
        subprocess.run(
            [tmp_path / ".ci" / "install", name],
            env={"PATH": os.environ["PATH"], "PYTHON3": str(python)},
            cwd=tmp_path,
            capture_output=True,
            check=True,
        )
        return installed.read_text().split() if installed.exists() else []

    for name in before:
        install(name)
    found = install(wanted)

    assert found[-1].endswith(last) if last else not found


def test_no_other_file_of_the_project_installs_packages():
    found = {
        path.relative_to(tree.REPOSITORY).as_posix()
        for pattern in ("*.py", ".ci/*", "Makefile", "Dockerfile*")
        for path in tree.REPOSITORY.rglob(pattern)
        if path.is_file()
        and not {".venv", "tests", "var"} & set(path.relative_to(tree.REPOSITORY).parts)
        and _INSTALLS.search(path.read_text(encoding="utf-8", errors="replace"))
    }

    assert found - {".ci/install"} <= set(_ELSEWHERE)
