"""Runs allow-listed programs for a worker: no shell, own process group, bounded in every way.

Lives on the worker's event loop; knows no database. A program gets the environment of its task, a
short PATH and what it is run for, nothing of the worker's own; its payload is on standard input.
"""

from __future__ import annotations

import asyncio
import signal
from datetime import UTC, datetime
from typing import Any

import orjson

from executions.commandline.program import CannotRun, Invocation, Program
from executions.workers.endings import RESULT_BYTES, Ending, Kind, interrupted
from executions.workers.head_tail import HeadTail
from executions.workers.interruption import Limits, Stopping, Why, run_to_end
from executions.workers.opened import Opened, open_entry
from shared.conf import conf
from shared.encryption import DecryptionFailed
from shared.exceptions import InvalidInput
from shared.instants import format_instant
from shared.strict_json import read_json

_PATH = "/usr/local/bin:/usr/bin:/bin"


class CommandRunner:
    """Runs commands; one per worker."""

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._room = asyncio.Semaphore(conf().command_slots)

    async def run(self, entry: dict[str, Any]) -> Ending:
        """Run one attempt of a command; a cancel ends it within its grace."""
        refused = _refusal(entry["target"]["command"])
        if refused:
            return Ending(Kind.REFUSED, "command_failed", refused)
        try:
            invocation = _invocation(entry, open_entry(entry))
        except DecryptionFailed as error:
            return Ending(Kind.FAILED, "internal", error.message)
        async with self._room:
            if self._stopping.said:
                return interrupted(Why.STOPPING, 0.0, HeadTail(0))
            return await self._run(entry["target"], Program(invocation))

    async def _run(self, target: dict[str, Any], program: Program) -> Ending:
        limits = Limits(target["timeout_seconds"], target["cancel_grace_seconds"])
        running = asyncio.ensure_future(program.run())
        why = await run_to_end(running, limits, self._stopping, ask=program.ask, kill=program.kill)
        if why is not None:
            return interrupted(why, limits.seconds, program.log, _code_of(running))
        try:
            code = running.result()
        except (CannotRun, OSError) as error:
            message = f"The program cannot be started: {error}"
            return Ending(Kind.FAILED, "command_failed", message, log=program.log)
        if code in target["success_exit_codes"]:
            result = _result(program.stdout)
            return Ending(Kind.SUCCEEDED, result=result, log=program.log, exit_code=code)
        message = f"The program {_how(code)}."
        return Ending(Kind.FAILED, "command_failed", message, log=program.log, exit_code=code)


def _refusal(name: str) -> str:
    allowed = conf().allowed_commands
    if not allowed:
        return "ALLOWED_COMMANDS is not set for this worker, so it runs no commands."
    return "" if name in allowed else f"ALLOWED_COMMANDS has no command {name!r}."


def _invocation(entry: dict[str, Any], opened: Opened) -> Invocation:
    target = entry["target"]
    scheduled_for = datetime.fromtimestamp(entry["scheduled_for"], UTC)
    return Invocation(
        argv=(conf().allowed_commands[target["command"]], *target["arguments"]),
        environment={
            "PATH": _PATH,
            **opened.target.get("environment", {}),
            "PUNCTUAL_EXECUTION_ID": entry["id"],
            "PUNCTUAL_TASK_ID": entry["task"],
            "PUNCTUAL_ATTEMPT": str(entry["attempt"]),
            "PUNCTUAL_SCHEDULED_FOR": format_instant(scheduled_for),
            "PUNCTUAL_IDEMPOTENCY_KEY": entry["id"],
        },
        stdin=b"" if opened.payload is None else orjson.dumps(opened.payload),
        output_bytes=target["output_bytes"],
        memory_bytes=target["memory_bytes"],
    )


def _result(stdout: bytes | bytearray) -> bytes | None:
    """Return the output as the result when it is one JSON document that can be kept."""
    if not stdout.strip() or len(stdout) > RESULT_BYTES:
        return None
    try:
        return orjson.dumps(read_json(bytes(stdout)))
    except InvalidInput:
        return None


def _code_of(running: asyncio.Task[int]) -> int | None:
    ended = running.done() and not running.cancelled() and running.exception() is None
    return running.result() if ended else None


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"was ended by {name}"
