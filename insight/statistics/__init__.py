"""Reads for pictures: present, coming and past work, and the processes that do it.

The console, the API and the commands show them. Each read is bounded: it reads a limited number of
rows of any installation, and reports where its result may be incomplete.
"""

from __future__ import annotations

from insight.statistics.fleet import (
    PartitionView,
    RecorderView,
    SchedulerView,
    WorkerView,
    partition_map,
    recorders,
    schedulers,
    workers,
)
from insight.statistics.future import NextFire, next_fires
from insight.statistics.history import RunBar, dead_letter_sparklines, run_strips
from insight.statistics.minutes import MinutePoint, StartDelay, throughput
from insight.statistics.present import Overview, RunningNow, overview, running_now

__all__ = [
    "MinutePoint",
    "NextFire",
    "Overview",
    "PartitionView",
    "RecorderView",
    "RunBar",
    "RunningNow",
    "SchedulerView",
    "StartDelay",
    "WorkerView",
    "dead_letter_sparklines",
    "next_fires",
    "overview",
    "partition_map",
    "recorders",
    "run_strips",
    "running_now",
    "schedulers",
    "throughput",
    "workers",
]
