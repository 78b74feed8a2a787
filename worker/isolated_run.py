"""Runs one webhook in a process of its own: for work that has ended its workers before."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from typing import Any

import orjson

from wire import outcomes
from wire.messages import Entry, Lone, Shared
from wire.outcomes import Outcome
from worker.children import (
    child_environment,
    end_leader,
    in_memory,
    spawn_leader,
)
from worker.endings import Ending, Kind
from worker.output_pipe import OutputPipe

_PROGRAM = (sys.executable, "-m", "worker.isolated_child")
#: Starting Python and Django, beside the request's own time-out.
_MARGIN_SECONDS = 20.0
#: The largest outcome with a captured answer.
_ANSWER_BYTES = 4 * 1024 * 1024


async def deliver_alone(
    entry: Entry,
    batch: Shared,
    started: float,
    program: Sequence[str] = _PROGRAM,
) -> Outcome | Ending:
    """Run one attempt in a child and return its outcome, or the ending when the child died.

    A cancel kills the child with all that it has started.
    """
    answer = bytearray()
    output = OutputPipe(lambda data: answer.extend(data[: _ANSWER_BYTES - len(answer)]))
    process = await _spawn(program, _question(entry, batch, started), output)
    try:
        async with asyncio.timeout(entry["target"]["timeout_seconds"] + _MARGIN_SECONDS):
            code = await process.wait()
    except TimeoutError:
        return Ending(Kind.LOST, "worker_lost", "The attempt's own process did not end in time.")
    finally:
        await end_leader(process)
        output.drain()
        output.close()
    if code != 0:
        message = f"The attempt's own process ended with code {code}."
        return Ending(Kind.LOST, "worker_lost", message)
    found: Any = outcomes.decode(bytes(answer))
    outcome: Outcome = found
    return outcome


async def _spawn(
    program: Sequence[str], question: bytes, output: OutputPipe
) -> asyncio.subprocess.Process:
    stdin = in_memory(question)
    try:
        return await spawn_leader(
            *program,
            str(os.getpid()),
            stdin=stdin,
            stdout=output.writable,
            env=child_environment(),
        )
    except BaseException:
        output.close()
        raise
    finally:
        os.close(stdin)
        output.child_has_it()


def _question(entry: Entry, batch: Shared, started: float) -> bytes:
    secrets = batch["secrets"].get(entry["tenant"], [])
    keys = batch.get("keys", {}).get(entry["tenant"], [])
    part: Shared = {
        "offset": batch["offset"],
        "secrets": {entry["tenant"]: secrets},
        "keys": {entry["tenant"]: keys},
    }
    if named := batch.get("named_secrets", {}).get(entry["tenant"]):
        part["named_secrets"] = {entry["tenant"]: named}
    question: Lone = {"entry": entry, "batch": part, "started": started}
    return orjson.dumps(question)
