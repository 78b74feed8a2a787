"""A disk that fills up under the whole data directory: database, broker, mail and notes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import installation
from bench.chaos.experiment import Experiment
from bench.chaos.probed import probed
from bench.chaos.servers import POSTGRESQL, VALKEY, until_answering
from bench.chaos.site import Site, fault
from operations.proof.campaign import Outcome
from operations.proof.matcher import Fault
from operations.proof.workload import Window

_DISK_MEGABYTES = 512
_FULL_SECONDS = 12.0
_CHUNK = bytes(1024 * 1024)


@contextmanager
def small_disk() -> Iterator[Site]:
    """Start an installation whose data directory is on a small disk of its own; needs root."""
    if os.geteuid() != 0:
        raise installation.InstallationError("a disk of its own needs root (mount)")
    scratch = Path(tempfile.mkdtemp(prefix="punctual-disk-"))
    scratch.chmod(0o711)
    options = f"size={_DISK_MEGABYTES}m,mode=711"
    _run("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(scratch))
    try:
        directory = str(scratch / "data")
        with installation.started(
            DATA_DIR=directory, SCHEDULERS="2", WORKERS="2", RECORDERS="2"
        ) as product:
            yield Site(product)
    finally:
        _run("umount", "--lazy", str(scratch))
        scratch.rmdir()


def _run(program: str, *arguments: str) -> None:
    found = shutil.which(program)
    if found is None:
        raise installation.InstallationError(f"there is no {program} here")
    subprocess.run([found, *arguments], check=True)


async def _full(site: Site, window: Window) -> tuple[Fault, ...]:
    """Take every free byte, and each that becomes free, for the time of the fault."""
    began = time.monotonic()
    filler = site.data_dir.parent / "filler"
    try:
        while time.monotonic() < began + _FULL_SECONDS:
            await asyncio.to_thread(_fill, filler)
            await asyncio.sleep(0.2)
    finally:
        filler.unlink()
    for kind in (POSTGRESQL, VALKEY):
        await until_answering(site, kind)
    return (fault("disk full", seconds=time.monotonic() - began),)


def _fill(filler: Path) -> None:
    with filler.open("ab", buffering=0) as handle:
        for chunk in (_CHUNK, _CHUNK[:4096]):
            with contextlib.suppress(OSError):  # that it is full is the purpose
                while handle.write(chunk) == len(chunk):
                    pass


def _sound(site: Site, outcome: Outcome) -> list[str]:
    """Read every page of every table, so that the checksums of all are looked at."""
    tables = site.rows("SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r'")
    for (table,) in tables:
        site.rows(f"SELECT count(*) FROM {table}")
    [(failures,)] = site.rows("SELECT coalesce(sum(checksum_failures), 0) FROM pg_stat_database")
    return [f"{failures} pages are broken"] if failures else []


EXPERIMENTS: tuple[Experiment, ...] = (
    probed(
        _full,
        stand=small_disk,
        check=_sound,
        id="disk-full",
        fault="the disk of the data directory is full",
        how="a file takes every free byte of a small file system for 12 s",
        invariant="503 instead of a 201 that would be lost; goes on when there is room; no page "
        "is broken",
        seconds=35.0,
        latest_start_seconds=30.0,
    ),
)
