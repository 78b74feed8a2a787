"""Handlers as a deployment writes them, good and bad; imported by child processes of workers."""

# ruff: noqa: T201 - handlers print, and it is captured

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from typing import Any

from executions.handlers import Context, Permanent, handler


@handler("echo")
def echo(context: Context, payload: Any) -> Any:
    print("a line of output")
    context.log.info("a line of the log")
    return {
        "payload": payload,
        "attempt": context.attempt,
        "execution_id": context.execution_id,
        "scheduled_for": context.scheduled_for.isoformat(),
        "last_progress": context.last_progress,
        "pid": os.getpid(),
    }


@handler("echo_async")
async def echo_async(context: Context, payload: Any) -> Any:
    await asyncio.sleep(0)
    return payload


@handler("counts_tenants")
def counts_tenants(context: Context, payload: Any) -> int:
    from tenants.models import Tenant

    return Tenant.objects.count()


@handler("raises")
def raises(context: Context, payload: Any) -> None:
    print("before it", file=sys.stderr)
    raise LookupError("no such invoice\0")


@handler("permanent")
def permanent(context: Context, payload: Any) -> None:
    raise Permanent("the customer is gone")


@handler("exits")
def exits(context: Context, payload: Any) -> None:
    sys.exit(3)


@handler("dies")
def dies(context: Context, payload: Any) -> None:
    print("last words", flush=True)
    os._exit(9)


@handler("segfault")
def segfault(context: Context, payload: Any) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@handler("deaf")
def deaf(context: Context, payload: Any) -> None:
    print("deaf", flush=True)
    context.progress({"pid": os.getpid()})
    while True:
        context.wait(0.01)


@handler("polite")
def polite(context: Context, payload: Any) -> Any:
    context.progress("waiting")
    context.wait(60)
    return "cancelled" if context.cancelled else "not cancelled"


@handler("polite_async")
async def polite_async(context: Context, payload: Any) -> None:
    context.progress("waiting")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        print("tidied up")
        raise


@handler("checkpoints")
def checkpoints(context: Context, payload: Any) -> Any:
    for step in range(payload):
        context.progress({"step": step})
    return "done"


@handler("too_much_progress")
def too_much_progress(context: Context, payload: Any) -> None:
    context.progress("x" * 20_000)


@handler("floods")
def floods(context: Context, payload: Any) -> None:
    print("first")
    for _ in range(payload):
        print("x" * 1023)
    print("last")


@handler("large_result")
def large_result(context: Context, payload: Any) -> str:
    return "x" * 70_000


@handler("no_json")
def no_json(context: Context, payload: Any) -> Any:
    return {1, 2}


@handler("leaves_a_process")
def leaves_a_process(context: Context, payload: Any) -> int:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as started:
        context.progress(started.pid)
        while True:
            context.wait(0.01)


@handler("grows")
def grows(context: Context, payload: Any) -> int:
    _kept.append(bytearray(payload))
    return os.getpid()


_kept: list[bytearray] = []
