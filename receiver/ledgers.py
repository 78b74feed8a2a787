"""Ledgers of tenants: requests below a tenant's address are written to that tenant's file.

With them the receiver of ``up`` serves a storm beside all other tenants. The reader of a ledger
makes its empty file first and removes it afterwards: a request never makes one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from receiver.records import Ledger

#: The folder of these files in the data directory.
FOLDER = "ledgers"


def file_of(directory: Path, segment: str) -> Path:
    """Return where the ledger of a tenant is."""
    return directory / f"{segment}.jsonl"


class TenantLedgers:
    """The open ledgers of a directory, by segment; without a directory there are none."""

    def __init__(self, directory: Path | None, fail: Callable[[OSError], None]) -> None:
        self._directory = directory
        self._fail = fail
        self._open: dict[str, Ledger] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def find(self, segment: str) -> Ledger | None:
        """Return the ledger of a segment that the receiver has checked; None without a file."""
        if self._directory is None:
            return None
        if segment not in self._open:
            path = file_of(self._directory, segment)
            if not path.is_file():
                return None
            self._close_removed(self._directory)
            self._open[segment] = Ledger(path, self._fail)
        return self._open[segment]

    async def close(self) -> None:
        """Write the waiting lines and close the files."""
        for segment in list(self._open):
            self._close(segment)
        await asyncio.gather(*self._closing)

    def _close_removed(self, directory: Path) -> None:
        for segment in list(self._open):
            if not file_of(directory, segment).is_file():
                self._close(segment)

    def _close(self, segment: str) -> None:
        task = asyncio.get_running_loop().create_task(self._open.pop(segment).close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
