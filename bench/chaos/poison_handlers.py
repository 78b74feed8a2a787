"""Handlers that end their process, or their worker: what ``poison`` sends to workers."""

from __future__ import annotations

import os
import resource
import signal
from typing import Any

from executions.handlers import Context, handler

#: Beyond what the process has when it is asked: enough to see it grow, too little to harm anybody.
_MEMORY_BYTES = 256 * 1024 * 1024
_PIECE_BYTES = 8 * 1024 * 1024


@handler("poison_fine")
def fine(context: Context, payload: Any) -> str:
    """Do what is expected: the process has to be of use to others."""
    return "fine"


@handler("poison_exits")
def exits(context: Context, payload: Any) -> None:
    """End the process without a word."""
    os._exit(9)


@handler("poison_is_killed_for_memory")
def is_killed_for_memory(context: Context, payload: Any) -> None:
    """Grow to a limit of its own and end as the kernel would end it."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + _MEMORY_BYTES, hard))
    kept = []
    try:
        while True:
            kept.append(bytearray(_PIECE_BYTES))
    except MemoryError:
        os.kill(os.getpid(), signal.SIGKILL)


@handler("poison_runs_out_of_memory")
def runs_out_of_memory(context: Context, payload: Any) -> None:
    """Grow to a limit of its own and fail as Python does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + _MEMORY_BYTES, hard))
    try:
        kept = []
        while True:
            kept.append(bytearray(_PIECE_BYTES))
    finally:
        del kept
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@handler("poison_recurses")
def recurses(context: Context, payload: Any) -> Any:
    """Call itself without end."""
    return recurses(context, payload)


@handler("poison_segfaults")
def segfaults(context: Context, payload: Any) -> None:
    """End as after a wrong pointer."""
    os.kill(os.getpid(), signal.SIGSEGV)


@handler("poison_kills_its_worker")
def kills_its_worker(context: Context, payload: Any) -> None:
    """End the process that started this one."""
    os.kill(os.getppid(), signal.SIGKILL)
    context.wait(60)


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()
