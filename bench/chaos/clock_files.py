"""Clocks that can be set while a process runs: a preloaded library reads each from a file.

Only the time of day is changed, as when an operator or a wrong time server sets it; the monotonic
clock goes on. libfaketime is not used: its absolute sleeps fail where only the time of day is
changed (``clock_nanosleep`` answers EINVAL, version 0.9.10).
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from pathlib import Path

from bench.chaos.site import CannotRunError

_SOURCE = Path(__file__).with_name("clock.c")
LIBRARY = "clock.so"
_FORM = struct.Struct("=ddd")


class NoClocksError(CannotRunError):
    """Clocks cannot be set here: no C compiler to build the library with."""


def build(folder: Path) -> Path:
    """Build the library in a folder and return its path; NoClocksError where that cannot be."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise NoClocksError("setting a process's clock needs a C compiler (cc)")
    library = folder / LIBRARY
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(_SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NoClocksError(f"{_SOURCE.name} cannot be compiled: {done.stderr.strip()[:500]}")
    return library


def environment(library: Path, clock: Path) -> dict[str, str]:
    """Return the variables that give a process the clock of a file."""
    return {"LD_PRELOAD": str(library), "CLOCK_FILE": str(clock)}


def write(clock: Path, offset_seconds: float = 0.0, gain: float = 0.0) -> None:
    """Set a clock ``offset_seconds`` ahead, gaining ``gain`` a second from now on; in place."""
    said = _FORM.pack(offset_seconds, gain, time.time())
    with clock.open("r+b" if clock.exists() else "wb") as handle:
        handle.write(said)


def read(clock: Path) -> tuple[float, float, float]:
    """Return offset, gain, and since when it is gained."""
    offset, gain, since = _FORM.unpack(clock.read_bytes())
    return offset, gain, since
