"""The words that a task's definition may use, each list in one place.

Validation refuses other words, the OpenAPI schema shows these.
"""

from __future__ import annotations

from django.db import models


class TaskType(models.TextChoices):
    """Whether a task has one occurrence, many, or none: a workflow may run only when asked."""

    ONE_TIME = "ONE_TIME"
    RECURRING = "RECURRING"
    MANUAL = "MANUAL"


class TaskStatus(models.TextChoices):
    """States of a task."""

    SCHEDULED = "SCHEDULED"
    PAUSED = "PAUSED"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


class OnResume(models.TextChoices):
    """What becomes of the instants that fell into a pause."""

    SKIP = "skip"
    RUN_ONCE = "run_once"
    REPLAY = "replay"


class PauseScope(models.TextChoices):
    """What a standing pause covers."""

    LABEL = "label"
    POOL = "pool"
    DESTINATION = "destination"
    TENANT = "tenant"


#: The scope of the pause that implements a tenant's suspension. It begins and ends with the
#: suspension; no list shows it, and no caller can ask for it.
SUSPENSION = "suspension"
#: What resuming does with instants of a suspension: each task's misfire policy decides on them.
AS_MISSED = "misfire"
#: The reason of an instant that fell into a suspension, and of work that waits for its end.
TENANT_SUSPENDED = "tenant_suspended"

DST_GAP = ("next_valid", "skip", "before")
DST_OVERLAP = ("first", "second", "both")
MISFIRE_POLICIES = ("skip", "coalesce", "replay")
#: Which of the missed instants a coalesced run represents.
MISFIRE_COALESCE = ("latest", "earliest")
OVERLAP_POLICIES = ("allow", "skip", "queue_one", "queue_all", "cancel_running")
#: What becomes of an instant that a calendar excludes.
CALENDAR_POLICIES = ("skip", "next_business_day", "previous_business_day")
#: What becomes of a task one of whose prerequisites has ended without success.
ON_DEPENDENCY_FAILURE = ("skip", "fail", "wait")
#: What lateness and duration of a task are measured against.
TARGETS = ("start_within_seconds", "max_duration_seconds")
#: Longest concurrency key, and most work of one key that a task may allow at a time.
CONCURRENCY_KEY_LENGTH, MOST_OF_A_KEY = 200, 1000
#: In which order the work of a concurrency key starts.
CONCURRENCY_ORDERS = ("any", "fifo")
IN_ORDER = CONCURRENCY_ORDERS[1]
#: The reason of an instant that does not run because of such a prerequisite.
DEPENDENCY_FAILED = "dependency_failed"
#: The periods of a budget.
BUDGET_PERIODS = ("day", "month")
#: The reason of an instant that a budget does not let run, and the code of a refused run.
BUDGET_EXCEEDED = "budget_exceeded"
#: What a step of a workflow does.
STEP_KINDS = ("target", "workflow", "delay", "wait_for_event", "approval")
#: By which ends of its prerequisites a step starts.
STEP_CONDITIONS = ("all_success", "all_done", "none_failed", "one_failed", "any_success")
#: After which ends a step is compensated.
COMPENSATED_ENDS = ("SUCCEEDED", "TIMED_OUT", "WORKER_LOST")
TARGET_KINDS = ("webhook", "pool", "handler", "command")
#: The kind of the target of a task that is a workflow; only workflows' calls write it.
WORKFLOW = "workflow"
#: What a failed step does to its run: cancel what is open; let independent branches go on; or
#: cancel what is open, and then undo what has succeeded.
ON_FAILURE = ("fail_fast", "continue", "compensate")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
COMPLETIONS = ("response", "callback")
#: How the payload becomes the body: as JSON, or a text as it is.
BODY_FORMATS = ("json", "raw")
AUTH_TYPES = ("basic", "bearer", "api_key", "oauth2")
#: Where an API key is sent.
API_KEY_PLACES = ("header", "query")
BACKOFFS = ("exponential", "fixed", "listed")
JITTERS = ("full", "none")
#: Failures without a status that a policy may retry.
RETRY_WORDS = ("timeout", "connection")

#: Fields of which a schedule has exactly one, with the task type that each implies.
TIMING_FIELDS = {
    "run_at": TaskType.ONE_TIME,
    "delay_seconds": TaskType.ONE_TIME,
    "cron_expression": TaskType.RECURRING,
    "every": TaskType.RECURRING,
}
