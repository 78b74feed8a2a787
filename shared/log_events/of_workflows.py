"""Events of workflows: their runs, steps and signals."""

from __future__ import annotations

from shared.log_events.event import LogEvent

_BY_ITSELF = "None: a scheduler does it soon. Look at Redis and PostgreSQL where it lasts."
_KEYS = "See ENCRYPTION_KEYS: the key that sealed it is missing."

EVENTS = (
    LogEvent(
        "advance.failed",
        "warning",
        "Runs could not be advanced right after the end of a step.",
        _BY_ITSELF,
        ("reason",),
    ),
    LogEvent(
        "runs.not_advanced",
        "error",
        "Runs could not be advanced because of an error; each is tried alone.",
        "Please report it as a bug, with the line.",
        ("run_ids",),
        traceback=True,
    ),
    LogEvent(
        "runs.deadlocked",
        "warning",
        "Runs waited for each other; one of them failed so that the others continue.",
        "Change the workflows: each waits for a concurrency key or a place that the other has.",
        ("tenant_id", "run_id"),
    ),
    LogEvent(
        "run.unreadable",
        "error",
        "A run failed because its input cannot be read.",
        _KEYS,
        ("run_id", "reason"),
    ),
    LogEvent(
        "run.definition_unreadable",
        "error",
        "A run waits, because no key opens the definition of its workflow.",
        _KEYS,
        ("run_id",),
    ),
    LogEvent(
        "run_retry.unreadable",
        "error",
        "A retry of a run waits, because no key opens what it needs.",
        _KEYS,
        ("run_id",),
    ),
    LogEvent(
        "signal.unreadable",
        "error",
        "A signal releases steps without its payload, which cannot be read.",
        _KEYS,
        ("signal_id",),
    ),
    LogEvent(
        "step_end.stale",
        "info",
        "The end of a step came that its run does not wait for.",
        "None.",
        ("run_id", "step"),
    ),
    LogEvent(
        "steps.not_taken_back",
        "warning",
        "Steps of a run that ends could not be taken back yet.",
        _BY_ITSELF,
        ("run_id", "reason"),
    ),
    LogEvent(
        "steps.not_held",
        "warning",
        "Steps of a paused run could not be held yet.",
        _BY_ITSELF,
        ("run_id", "reason"),
    ),
)
