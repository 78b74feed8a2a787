"""Installs what the peers need and Punctual does not, below the data directory of the checkout.

A virtual environment and a ``node_modules``, each made once for the exact versions listed beside
this module, and again when those change.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import Distribution
from pathlib import Path

from bench.installation import CHECKOUT
from bench.peers.contender import CouldNotRunError

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
NODE_SOURCES = HERE / "node"
PLACE = CHECKOUT / "var" / "peers"
PYTHON_PLACE = PLACE / "python"
NODE_PLACE = PLACE / "node"
PYTHON = PYTHON_PLACE / "bin" / "python"
PYTHON_KIND, NODE_KIND = "python", "node"
#: Written last, with what was installed: an install that broke off is begun anew.
_STAMP = "installed.txt"
_SECONDS = 900.0


def ensure(kinds: Iterable[str]) -> dict[str, str]:
    """Install what is missing of the kinds; return the reason by kind for those that fail."""
    absent = {}
    for kind in sorted(set(kinds) & set(_INSTALLERS)):
        try:
            _INSTALLERS[kind]()
        except CouldNotRunError as error:
            absent[kind] = str(error)
    return absent


def ensure_python() -> None:
    """Make the virtual environment for the Python peers, unless it is there."""
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if is_current(PYTHON_PLACE, wanted):
        return
    print(f"installing the Python peers into {PYTHON_PLACE}", flush=True)
    shutil.rmtree(PYTHON_PLACE, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(PYTHON_PLACE)])
    _run([str(PYTHON), "-m", "pip", "install", "--quiet", "--requirement", str(REQUIREMENTS)])
    mark(PYTHON_PLACE, wanted)


def ensure_node() -> None:
    """Install the Node peers, unless they are there; copy the scripts beside their modules."""
    wanted = (NODE_SOURCES / "package.json").read_text(encoding="utf-8")
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise CouldNotRunError(f"{program} is not installed")
    current = is_current(NODE_PLACE, wanted)
    NODE_PLACE.mkdir(parents=True, exist_ok=True)
    # Node looks for modules beside a script, not where it was started.
    for source in NODE_SOURCES.iterdir():
        shutil.copy(source, NODE_PLACE)
    if current:
        return
    print(f"installing the Node peers into {NODE_PLACE}", flush=True)
    _run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], NODE_PLACE)
    mark(NODE_PLACE, wanted)


_INSTALLERS: dict[str, Callable[[], None]] = {
    PYTHON_KIND: ensure_python,
    NODE_KIND: ensure_node,
}


def is_current(place: Path, wanted: str) -> bool:
    """Say whether exactly this list was installed there, to the end."""
    try:
        return (place / _STAMP).read_text(encoding="utf-8") == wanted
    except FileNotFoundError:
        return False


def mark(place: Path, wanted: str) -> None:
    """Note that this list is installed there."""
    (place / _STAMP).write_text(wanted, encoding="utf-8")


def _run(command: Sequence[str], folder: Path = CHECKOUT) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CouldNotRunError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        raise CouldNotRunError(f"{' '.join(command[:4])} failed: {done.stderr.strip()[-1000:]}")


def python_versions(*names: str) -> dict[str, str]:
    """Return the versions of packages in the peers' own environment."""
    folders = [str(folder) for folder in PYTHON_PLACE.glob("lib/python*/site-packages")]
    return {
        name: found.version
        for name in names
        for found in Distribution.discover(name=name, path=folders)
    }


def node_versions(*names: str) -> dict[str, str]:
    """Return the versions of modules that were installed, and that of Node itself."""
    done = subprocess.run(
        ["node", "--version"],  # noqa: S607 - node as the user has it
        capture_output=True,
        text=True,
        check=False,
    )
    found = {"node": done.stdout.strip()}
    for name in names:
        description = NODE_PLACE / "node_modules" / name / "package.json"
        found[name] = str(json.loads(description.read_text(encoding="utf-8"))["version"])
    return found
