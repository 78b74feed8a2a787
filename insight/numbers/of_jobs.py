"""Numbers of jobs and of what is kept: bulk jobs, runs of workflows, erasures, keys, archives."""

from __future__ import annotations

from insight.numbers.number import ALWAYS, EXACT, NOW, Number

_ONE = "one run of the command"

JOBS = (
    Number(
        "bulk.items",
        "Rows of a bulk job: all, and those done, skipped, failed and remaining; the last is "
        "all without the three before it.",
        "one bulk job",
        EXACT,
        (
            *("BulkJob.total", "BulkJob.done", "BulkJob.skipped", "BulkJob.failed"),
            "BulkJob.remaining",
        ),
        ("job.total", "job.done", "job.skipped", "job.failed"),
    ),
    Number(
        "bulk.executions",
        "Executions that a bulk job made, by state; `gone` are past their retention.",
        "one bulk job",
        "exact among the latest 10,000",
        tuple(
            f"MadeExecutions.{name}"
            for name in (
                *("pending", "running", "succeeded", "failed", "cancelled", "skipped", "gone"),
            )
        ),
        tuple(
            f"made.{name}"
            for name in (
                *("pending", "running", "succeeded", "failed", "cancelled", "skipped", "gone"),
            )
        ),
    ),
    Number(
        "bulk.scope",
        "Rows that a bulk job would act on, of how many tasks, and how many cannot go there.",
        NOW,
        EXACT,
        ("BulkScope.count", "BulkScope.tasks", "BulkScope.unfit"),
        (),
        ("* scope.count", "* scope.tasks", "* scope.unfit"),
    ),
    Number(
        "backfill.plan",
        "Instants that a backfill would make, and those of the range that it leaves out.",
        "the range asked for",
        EXACT,
        ("BackfillPlan.count", "BackfillPlan.excluded"),
    ),
    Number(
        "backfill.estimated_seconds",
        "How long the backfill would take, by the durations of the task's last executions.",
        "the range asked for",
        "an estimate",
        ("BackfillPlan.estimated_seconds",),
    ),
    Number(
        "bulk.created",
        "Tasks of one call that were created, and definitions that were refused.",
        "one call",
        EXACT,
        ("BulkAnswer.created", "BulkAnswer.failed"),
    ),
    Number(
        "run.counts",
        "Steps of a workflow's run by status; of a fan-out, its items by status.",
        "one run, its latest take",
        EXACT,
        ("RunSummary.counts", "RunStep.counts"),
    ),
    Number(
        "run.items",
        "Items of a fan-out that have ended, and all of them.",
        "one run, its latest take",
        EXACT,
        ("RunWaitsFor.done", "RunWaitsFor.total"),
    ),
    Number(
        "run.take",
        "The number of a run's take: 1, and one more with each retry.",
        "one run",
        EXACT,
        ("RunSummary.take", "StepWaitsFor.take"),
        (),
        ("workflows-* results.take",),
    ),
    Number(
        "signal.released",
        "Steps that waited for a signal.",
        "one signal",
        EXACT,
        ("Signal.released",),
    ),
)
KEPT = (
    Number(
        "erasure.counts",
        "Rows of each kind whose content an erasure took out, and audit entries about the task.",
        "one erasure",
        EXACT,
        ("Erasure.counts", "AuditEntries.count"),
        (),
        ("* counts.*", "* audit_entries.count", "* *erasures.counts.*"),
    ),
    Number(
        "resealing.progress",
        "Values sealed under the new key, unreadable ones, values left, and columns done of all.",
        "one resealing",
        EXACT,
        tuple(
            f"Resealing.{name}"
            for name in ("columns", "columns_done", "sealed", "unreadable", "left")
        ),
        (),
        ("keys-* *sealed", "keys-* *unreadable", "keys-* *left", "keys-rotate wrapped"),
    ),
    Number(
        "keys.uses",
        "Values under each data key, data keys under each master key, and open targets.",
        NOW,
        EXACT,
        (),
        (),
        ("keys-list *values", "keys-list keys.data_keys", "keys-list open_targets.*"),
    ),
    Number(
        "calendar.tasks",
        "Tasks that name a calendar or a secret; none that are deleted.",
        NOW,
        EXACT,
        ("Calendar.tasks", "CalendarSummary.tasks", "Secret.tasks"),
        ("calendar.task_count", "secret.task_count"),
        ("calendars-* *tasks", "secrets-* *tasks"),
    ),
    Number(
        "calendar.content",
        "Dates and windows of a calendar, and those of its last import, with its notes and the "
        "events left out.",
        "one calendar",
        EXACT,
        (
            *("CalendarSummary.date_count", "CalendarSummary.window_count"),
            *("Calendar.last_import.dates", "Calendar.last_import.windows"),
            *("Calendar.last_import.notes_count", "Calendar.last_import.skipped_count"),
        ),
        ("calendar.date_count", "calendar.window_count"),
        ("calendars-* *dates", "calendars-* *windows", "calendars-* *_count"),
    ),
    Number(
        "receiver.requests",
        "Requests that the test receiver keeps, and that arrived since it keeps some.",
        ALWAYS,
        EXACT,
        ("ReceivedRequests.kept", "ReceivedRequests.total"),
    ),
    Number(
        "archive.rows",
        "Rows and bytes of the parts of an archive, and rows that a command read back.",
        "one archive",
        EXACT,
        (),
        (),
        (
            *("archive-* parts.rows", "archive-* parts.bytes", "archive-* parts.part"),
            *("archive-export unfinished", "archive-restore rows.*", "archive-restore left_out"),
        ),
    ),
    Number(
        "backup.rows",
        "Tables, rows and bytes of a backup, and what a restore would run.",
        "one backup",
        EXACT,
        (),
        (),
        ("backup *", "restore *"),
    ),
    Number(
        "audit.entries",
        "Entries of a chain of the audit log, verified ones and those without a seal, and heads.",
        ALWAYS,
        EXACT,
        (),
        (),
        ("audit-verify *", "audit-heads *"),
    ),
    Number(
        "zones.tasks",
        "Tasks of each zone, and instants and tasks that a release of the zone database moved.",
        NOW,
        EXACT,
        ("ZoneMove.moved_count",),
        (),
        ("schedule-zones *",),
    ),
    Number(
        "command.done",
        "Rows that the command changed, and rows that it could not change.",
        _ONE,
        EXACT,
        ("ImportSummary.new", "ImportSummary.unchanged", "ImportSummary.refused"),
        (),
        (
            *("* done", "* failed", "accounts-* sessions_ended", "tenant-export rows.*"),
            *(
                "events-export *",
                "roles-make *",
                "roles-show *",
                "demo-* *",
                "accounts-login-link minutes",
                "tasks-import summary.*",
            ),
        ),
    ),
    Number(
        "storm.figures",
        "What a storm expected, found, lost and ran twice, and how long takeovers took.",
        "one storm",
        "exact, against the receiver's ledger",
        (),
        (),
        ("storm *",),
    ),
)
