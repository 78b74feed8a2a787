"""How many executions a worker runs at a time, and buffers, by its pool.

The default pool sends webhooks, which take a connection each; every other pool of ours runs
handlers or commands, which take a process each.
"""

from __future__ import annotations

from dataclasses import replace

from shared.conf import Conf
from tasks.definition import COMMAND_TARGET_DEFAULTS, WEBHOOK_POOL

#: Executions that a worker buffers for each of its processes; more would only keep them from other
#: workers.
_HELD_PER_SLOT = 4


def conf_of_pool(knobs: Conf, pool: str, slots: int | None = None) -> Conf:
    """Return the knobs of a worker of the pool; ``slots`` overrides the settings."""
    if pool == WEBHOOK_POOL:
        return knobs if slots is None else replace(knobs, worker_capacity=slots)
    configured = (
        knobs.command_slots if pool == COMMAND_TARGET_DEFAULTS["pool"] else knobs.handler_slots
    )
    wanted = configured if slots is None else slots
    return replace(
        knobs,
        worker_capacity=wanted,
        worker_hold=wanted * _HELD_PER_SLOT,
        handler_slots=wanted,
        command_slots=wanted,
    )
