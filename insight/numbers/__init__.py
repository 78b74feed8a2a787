"""The catalogue of numbers: what each counts, over which window, and how exact it is.

``docs/reference/numbers.md`` is written from it. A test fails where an answer of the API, a page or
a command shows a number that no entry has, and where an entry has no test that recounts it. Metrics
have a catalogue of their own, ``insight/metrics/catalogue.py``.
"""

from __future__ import annotations

from insight.numbers import of_jobs, of_limits, of_processes, of_work, one_task
from insight.numbers.number import Number

#: Title of each part of the page -> its numbers.
PARTS: dict[str, tuple[Number, ...]] = {
    "Open work of a tenant": of_work.OPEN,
    "What has ended": of_work.ENDED,
    "Objectives": of_work.OBJECTIVES,
    "Executions, dead letters and alerts": of_work.ROWS,
    "One task": one_task.TASKS,
    "Limits, pools and the forecast": of_limits.LIMITS,
    "Bulk jobs and workflows": of_jobs.JOBS,
    "What is kept": of_jobs.KEPT,
    "The installation": of_processes.STATUS,
    "Processes": of_processes.PROCESSES,
}
NUMBERS: dict[str, Number] = {one.name: one for part in PARTS.values() for one in part}
