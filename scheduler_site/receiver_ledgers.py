"""Ledgers by name: requests under ``/ledger/NAME/…`` are written to that name's file alone.

The receiver of ``up`` serves a storm so, beside everybody else. Whoever reads a ledger makes its
empty file first and removes it afterwards: a request alone makes none.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from scheduler_site.receiver_messages import Request
from scheduler_site.receiver_records import Ledger

#: What the data directory calls the folder of these files.
FOLDER = "ledgers"
_PREFIX = "/ledger/"
_TARGET = re.compile(r"/ledger/(?P<name>[a-z0-9][a-z0-9-]{0,63})(?P<rest>/.*)", re.DOTALL)


def file_of(directory: Path, name: str) -> Path:
    """Return where the ledger of that name is."""
    return directory / f"{name}.jsonl"


def is_named(request: Request) -> bool:
    """Say whether the request asks for a ledger of its own."""
    return request.target.startswith(_PREFIX)


class NamedLedgers:
    """The open ledgers of a directory; without a directory there are none."""

    def __init__(self, directory: Path | None, fail: Callable[[OSError], None]) -> None:
        self._directory = directory
        self._fail = fail
        self._open: dict[str, Ledger] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def find(self, request: Request) -> tuple[Request, Ledger] | None:
        """Return the request without its prefix, and its ledger; None where there is none."""
        found = _TARGET.fullmatch(request.target)
        if found is None or self._directory is None:
            return None
        name = found["name"]
        if name not in self._open:
            self._close_removed(self._directory)
            path = file_of(self._directory, name)
            if not path.is_file():
                return None
            self._open[name] = Ledger(path, self._fail)
        return replace(request, target=found["rest"]), self._open[name]

    async def close(self) -> None:
        """Write what is still waiting and close the files."""
        for name in list(self._open):
            self._close(name)
        await asyncio.gather(*self._closing)

    def _close_removed(self, directory: Path) -> None:
        for name in [name for name in self._open if not file_of(directory, name).is_file()]:
            self._close(name)

    def _close(self, name: str) -> None:
        task = asyncio.get_running_loop().create_task(self._open.pop(name).close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
