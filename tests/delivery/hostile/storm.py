"""Plays all rows at once, again and again, in a process of its own; prints what it cost as JSON.

``python -m tests.delivery.hostile.storm [ROUNDS]``. Memory is that of the whole process,
both sides of every connection, after a first round that loads what is loaded once.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import django
import uvloop

#: How often each row is played at the same time.
COPIES = 3


async def _rounds(count: int, folder: Path) -> dict[str, Any]:
    from tests.delivery.hostile.ground import Worker, make_ground
    from tests.delivery.hostile.playing import left_over, open_sockets, play
    from tests.delivery.hostile.table import ROWS

    ground = make_ground(folder)
    sockets, breaches, before = open_sockets(), [], 0
    for number in range(count + 1):
        worker = Worker(ground.trust)
        rows = [row for row in ROWS.values() for _ in range(COPIES)]
        played = await asyncio.gather(*[play(row, ground, worker) for row in rows])
        breaches += [breach for found in played for breach in found]
        await worker.close()
        if number == 0:
            before = _resident_bytes("VmHWM")
    return {
        "played": (count + 1) * COPIES * len(ROWS),
        "breaches": breaches,
        "grown_bytes": _resident_bytes("VmHWM") - before,
        "tasks": len(await left_over()),
        "sockets": open_sockets() - sockets,
    }


def _resident_bytes(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def main(arguments: list[str]) -> None:
    """Play and print."""
    django.setup()
    from worker.data_keys import take_keys_from_messages

    # As a worker, which asks no database.
    take_keys_from_messages()
    with tempfile.TemporaryDirectory() as folder:
        cost = uvloop.run(_rounds(int(arguments[0]) if arguments else 5, Path(folder)))
    sys.stdout.write(json.dumps(cost) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
