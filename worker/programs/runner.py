"""Runs allow-listed programs for a worker: no shell, own process group, bounded in every way.

Lives on the worker's event loop; knows no database. A program gets the variables of its task that
the deployment allows, a short PATH and the facts of its run, but no variable of the worker. Its
payload is on standard input.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson

from shared.conf import conf
from shared.encryption import DecryptionFailed
from shared.exceptions import InvalidInput
from shared.fair_slots import FairSlots
from shared.instants import format_instant
from shared.named_secrets.masking import masked_document
from shared.named_secrets.opened import Secrets, SecretUnavailable, secrets_of
from shared.strict_json import read_json
from wire.messages import Entry, Shared
from worker.endings import RESULT_BYTES, Ending, Kind, interrupted
from worker.entries import caller_of
from worker.head_tail import HeadTail
from worker.interruption import Limits, Stopping, Why, run_to_end
from worker.opened import Opened, open_entry
from worker.programs.account import Account, NoAccount, account_of_programs
from worker.programs.program import CannotRun, Invocation, Program

_PATH = "/usr/local/bin:/usr/bin:/bin"


class CommandRunner:
    """Runs commands; one per worker."""

    def __init__(self, stopping: Stopping) -> None:
        self._stopping = stopping
        self._slots = FairSlots(conf().command_slots)

    async def run(self, entry: Entry, batch: Shared) -> Ending:
        """Run one attempt of a command; a cancel ends it within its grace."""
        try:
            opened = open_entry(entry)
            secrets = secrets_of(entry["target"], batch.get("named_secrets", {}), entry["tenant"])
            environment = _environment(entry, opened, secrets)
        except DecryptionFailed as error:
            return Ending(Kind.FAILED, "internal", error.message)
        except SecretUnavailable as error:
            return Ending(Kind.REFUSED, error.code, error.message)
        refused = _refusal(entry, environment)
        if refused:
            return Ending(Kind.REFUSED, "command_failed", refused)
        try:
            account = account_of_programs(conf().command_user)
        except NoAccount as error:
            return Ending(Kind.REFUSED, "command_failed", str(error))
        invocation = _invocation(entry, opened, environment, account)
        async with self._slots.slot(caller_of(entry)):
            if self._stopping.said:
                return interrupted(Why.STOPPING, 0.0, HeadTail(0))
            ending = await self._run(entry["target"], Program(invocation))
        return _masked(ending, secrets) if secrets else ending

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


def _refusal(entry: Entry, environment: Mapping[str, str]) -> str:
    """Return why this worker does not run the command, '' where it does.

    Checked again here: the settings of a worker may be stricter than those under which the task
    was made, or newer.
    """
    knobs, name = conf(), entry["target"]["command"]
    if not knobs.allowed_commands:
        return "ALLOWED_COMMANDS is not set for this worker, so it runs no commands."
    if name not in knobs.allowed_commands:
        return f"ALLOWED_COMMANDS has no command {name!r}."
    if not knobs.lets_run(name, entry["tenant"]):
        return f"COMMAND_TENANTS does not give {name!r} to the tenant of this task."
    unknown = [one for one in environment if one not in knobs.command_variables.get(name, ())]
    if unknown:
        return f"COMMAND_VARIABLES does not let {name!r} get {', '.join(unknown)}."
    return ""


def _environment(entry: Entry, opened: Opened, secrets: Secrets) -> dict[str, str]:
    """Return the variables of the task with its secrets; raise SecretUnavailable."""
    if secrets:
        secrets.require_target(entry["target"])
    fill = secrets.join if opened.rendered else secrets.fill
    written: Mapping[str, Any] = opened.target.get("environment", {})
    return {name: fill(text) for name, text in written.items()} if secrets else dict(written)


def _masked(ending: Ending, secrets: Secrets) -> Ending:
    """Return the ending with the secrets masked in the output of the program."""
    result = ending.result
    if result is not None:
        result = masked_document(result, secrets)
    return replace(ending, result=result, mask=secrets.mask)


def _invocation(
    entry: Entry, opened: Opened, environment: Mapping[str, str], account: Account | None
) -> Invocation:
    target = entry["target"]
    arguments = target["arguments"] if opened.arguments is None else opened.arguments
    scheduled_for = datetime.fromtimestamp(entry["scheduled_for"], UTC)
    return Invocation(
        argv=(conf().allowed_commands[target["command"]], *arguments),
        environment={
            "PATH": _PATH,
            **environment,
            "PUNCTUAL_EXECUTION_ID": entry["id"],
            "PUNCTUAL_TASK_ID": entry["task"],
            "PUNCTUAL_ATTEMPT": str(entry["attempt"]),
            "PUNCTUAL_SCHEDULED_FOR": format_instant(scheduled_for),
            "PUNCTUAL_IDEMPOTENCY_KEY": entry["id"],
        },
        stdin=b"" if opened.payload is None else orjson.dumps(opened.payload),
        output_bytes=target["output_bytes"],
        memory_bytes=target["memory_bytes"],
        account=account,
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
