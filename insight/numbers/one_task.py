"""Numbers of one task: its past work, and its days."""

from __future__ import annotations

from insight.numbers.number import Number

_WINDOW = "the chosen window up to now, by the time in the executions' ids; a part of it by turns"
_NEWEST = "exact while `complete` is true; else of the newest 5,000 executions, from `from` on"
_DAY = "a day in the task's zone; of today what has ended so far"
_OF_200 = "exact while `at_least` is false; else of the newest 200 rows of the day"

TASKS = (
    Number(
        "task.ended",
        "Executions of the task that ended: succeeded, failed, cancelled or skipped; a skipped "
        "stretch that is one row does not count.",
        _WINDOW,
        _NEWEST,
        ("TaskFigures.ended", "TaskPart.ended"),
        ("task.ended",),
    ),
    Number(
        "task.results",
        "Of these the ones that succeeded, and that failed for good.",
        _WINDOW,
        _NEWEST,
        (
            *("TaskFigures.succeeded", "TaskFigures.failed"),
            *("TaskPart.succeeded", "TaskPart.failed"),
        ),
        ("task.failed",),
    ),
    Number(
        "task.success_share",
        "The successes among successes and failures, 0 to 1; null without any.",
        _WINDOW,
        _NEWEST,
        ("TaskFigures.success_share", "TaskPart.success_share"),
        ("task.success_share",),
    ),
    Number(
        "task.percentiles",
        "Percentiles of the start delays, and of the durations from the first start to the last "
        "end, of these executions; values that occurred.",
        _WINDOW,
        _NEWEST,
        ("TaskPercentiles.p50", "TaskPercentiles.p95"),
        ("task.duration_p95", "task.start_delay_p95"),
    ),
    Number(
        "task.cause",
        "Failures for good of one error code and HTTP status; the 20 most frequent causes.",
        _WINDOW,
        _NEWEST,
        ("TaskCause.count",),
        ("task.cause",),
    ),
    Number(
        "task.part_seconds",
        "The length of each part of the window.",
        _WINDOW,
        "chosen so that there are at most 31 parts",
        ("TaskStatisticsAnswer.part_seconds",),
    ),
    Number(
        "task.day",
        "Rows of the task by how they ended, by the time in their ids; a skipped stretch that is "
        "one row counts once.",
        _DAY,
        _OF_200,
        (
            *("TaskDay.succeeded", "TaskDay.failed"),
            *("TaskDay.cancelled", "TaskDay.skipped"),
        ),
    ),
    Number(
        "task.day_coming",
        "Instants of the schedule after now that are to run; none that a pause or calendar leaves "
        "out.",
        "a day in the task's zone; of today what is left of it",
        "exact for the schedule as it is while `at_least` is false; else at least",
        ("TaskDay.coming",),
    ),
    Number(
        "explain.estimate_error",
        "Milliseconds from the due time to the start of the task's latest runs that started: "
        "median, 90th percentile, and how many there are.",
        "its latest 100 runs, of 35 days at most",
        "exact",
        ("EstimateError.p50", "EstimateError.p90", "EstimateError.count"),
    ),
)
