"""Numbers of what limits work: destinations, keys, pools, quotas, budgets, pauses, the forecast."""

from __future__ import annotations

from insight.numbers.number import EXACT, NOW, PLAN, SAID, Number

LIMITS = (
    Number(
        "destination.calls",
        "Calls of a host by the tenant that ended, and how many of them failed, as its circuit "
        "counts them; null while Redis is away.",
        "the last 60 seconds, in steps of a tenth",
        "exact; failures that a circuit does not count (such as 404) are no failures here",
        ("Destination.calls", "Destination.failures"),
        ("destination.failed", "destination.failed_share", "destination.calls"),
    ),
    Number(
        "destination.in_flight",
        "RUNNING executions that call the host, without those whose receiver answered 202.",
        NOW,
        EXACT,
        ("Destination.in_flight",),
        ("destination.in_flight", "destination.more_in_flight"),
    ),
    Number(
        "destination.parked",
        "Executions, due or not, that wait for the host's limits or circuit; none on hold.",
        NOW,
        "exact to 10,000, which says at least that",
        ("Destination.parked",),
        ("destination.parked", "destination.more_waiting"),
    ),
    Number(
        "destination.tasks",
        "Tasks that call the host: not deleted, not ended.",
        NOW,
        EXACT,
        ("Destination.tasks",),
        ("destination.tasks", "destination.more_tasks"),
    ),
    Number(
        "destination.limits",
        "The limits of the host, as they were set.",
        NOW,
        EXACT,
        (),
        ("destination.limits",),
    ),
    Number(
        "key.in_use",
        "Executions that have a place of a concurrency key.",
        NOW,
        EXACT,
        ("ConcurrencyKey.in_use",),
        ("key.in_use",),
    ),
    Number(
        "key.waiting",
        "Due executions that wait for a place of the key.",
        NOW,
        "exact to 100,000, which says at least that",
        ("ConcurrencyKey.waiting",),
        ("key.waiting",),
    ),
    Number(
        "pool.depth",
        "Due executions of the pool that no worker has leased; none on hold.",
        NOW,
        EXACT,
        ("Pool.depth",),
        ("pool.depth",),
    ),
    Number(
        "pool.in_flight",
        "Executions of the pool that workers have leased, running or not.",
        NOW,
        EXACT,
        ("Pool.in_flight",),
        ("pool.in_flight",),
    ),
    Number(
        "pool.live_workers",
        "Workers of the pool that are heard; null while Redis is away.",
        NOW,
        SAID,
        ("Pool.live_workers",),
        ("pool.live_workers",),
    ),
    Number(
        "quota.used",
        "What is used of a quota: stored tasks and bytes of their payloads, runs and steps in "
        "flight (a retried run from its retry on), creations of the last seconds; and its share "
        "of the limit.",
        "this moment, counted at most a minute ago",
        "exact when counted; null where it is not known",
        ("Quota.used", "Quota.share"),
        ("quota.used",),
    ),
    Number(
        "quota.free_in_seconds",
        "Seconds until nothing of a rate is used.",
        NOW,
        "rounded up",
        ("Quota.free_in_seconds",),
    ),
    Number(
        "budget.used",
        "Units of a task's budget that its attempts have used, and what is left.",
        "the day or month in the task's time zone",
        EXACT,
        (
            *("TaskDetail.budget_use.used", "TaskDetail.budget_use.left"),
            *("Workflow.budget_use.used", "Workflow.budget_use.left"),
        ),
        (),
        ("* *budget_use.used", "* *budget_use.left", "* *budget_use.limit"),
    ),
    Number(
        "pause.task_count",
        "Tasks that a standing pause holds, or would hold; of an ended one, how many it held.",
        NOW,
        EXACT,
        ("Pause.task_count", "PauseReach.task_count"),
        ("pause.task_count",),
    ),
    Number(
        "share.received",
        "Executions of the tenant that workers of a scarce pool were given.",
        "the minutes asked for, those in which the pool was scarce",
        EXACT,
        ("PoolShare.received", "ShareMinute.received", "PoolShare.scarce_minutes"),
        ("share.received", "share.scarce_minutes"),
        ("shares shares.received", "shares shares.scarce_minutes"),
    ),
    Number(
        "share.due",
        "The part of all given executions that the tenant's weight makes due, as far as it had "
        "work; the ratio is received by due; and how long its oldest work waited.",
        "the minutes asked for, those in which the pool was scarce",
        "rounded: due to 0.1, the ratio to 0.001, seconds to 0.001",
        (
            *("PoolShare.due", "ShareMinute.due", "PoolShare.ratio"),
            *("PoolShare.oldest_wait_seconds", "ShareMinute.oldest_wait_seconds"),
        ),
        ("share.due", "share.ratio", "share.oldest_wait_seconds"),
        ("shares shares.due", "shares shares.ratio", "shares shares.oldest_wait_seconds"),
    ),
    Number(
        "forecast.starts",
        "Starts that schedules will have: in a minute or hour, at a destination, and in all.",
        "the days asked for, from the minute under way; made at most a minute ago",
        PLAN,
        ("Forecast.starts", "LoadBucket.count", "DestinationLoad.count", "HotSpot.count"),
        ("picture.fires", "hot_spot.count", "forecast.destination"),
    ),
    Number(
        "forecast.tasks",
        "Tasks that start within the forecast, those whose starts are counted, those of one "
        "minute, and more minutes with the same tasks; paused ones do not start.",
        "the days asked for; made at most a minute ago",
        PLAN,
        ("Forecast.tasks", "Forecast.tasks_counted", "HotSpot.tasks", "HotSpot.repeats"),
        ("hot_spot.tasks",),
    ),
    Number(
        "month.coming",
        "Runs that schedules will have on a day of the month, from now on, and on all of its days; "
        "instants of the schedule, which jitter may move over midnight.",
        "a day on the clock of a zone; made at most a minute ago",
        PLAN,
        ("MonthDay.coming",),
        ("month.coming", "month.total"),
    ),
    Number(
        "month.ended",
        "Runs of tasks and of workflows that succeeded, or failed, on a day: by the minute of "
        "their end, with a filter by their time.",
        "a day on the clock of a zone",
        "exact without a filter; with one at least where `ended_at_least` is true (50 runs of 40 "
        "tasks are read)",
        ("MonthDay.succeeded", "MonthDay.failed"),
        ("month.succeeded", "month.failed"),
    ),
    Number(
        "month.tasks",
        "Tasks with an instant before the month's end, those whose runs are counted, and paused "
        "ones, which are not.",
        "the month; made at most a minute ago",
        "exact to 10,000 recurring and 10,000 one-time tasks, and to 1,000 paused ones",
        ("Month.tasks", "Month.tasks_counted", "Month.tasks_paused"),
        ("month.tasks", "month.paused"),
    ),
    Number(
        "spread.tasks",
        "Tasks that would get a jitter, and those of the minute that have one.",
        "one coming minute",
        EXACT,
        ("SpreadPlan.tasks", "SpreadPlan.left_out"),
    ),
    Number(
        "preview.runs_per_day",
        "Runs of a mean day before and after an edit, and starts of other tasks in the busiest "
        "minute of the new instants.",
        "the next hundred instants",
        "an estimate; rounded",
        ("RunsPerDay.before", "RunsPerDay.after", "BusiestMinute.others"),
    ),
)
