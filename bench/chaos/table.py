"""Every fault that can be injected, in the order of a whole run."""

from __future__ import annotations

from bench.chaos import (
    broker,
    clocks,
    database,
    disk,
    loads,
    network,
    poison,
    processes,
    shutdown,
    standby,
    zombies,
)
from bench.chaos.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    *processes.EXPERIMENTS,
    *shutdown.EXPERIMENTS,
    *zombies.EXPERIMENTS,
    *loads.EXPERIMENTS,
    *broker.EXPERIMENTS,
    *database.EXPERIMENTS,
    *network.EXPERIMENTS,
    *clocks.EXPERIMENTS,
    # Last: some have installations of their own.
    *poison.EXPERIMENTS,
    *disk.EXPERIMENTS,
    *standby.EXPERIMENTS,
)
