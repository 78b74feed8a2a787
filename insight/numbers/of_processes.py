"""Numbers of the installation: what it does, who does it, and with which load."""

from __future__ import annotations

from insight.numbers.number import BUCKET, EXACT, HOUR, NOW, RECORDED, SAID, Number

_MINUTE = "one minute, once it is over"
_HOUR = "one hour, once it is over"

STATUS = (
    Number(
        "status.due",
        "Executions of all tenants that are due and that no worker has; none on hold. `tenants` "
        "says how many of them wait for a tenant's matter.",
        NOW,
        EXACT,
        (),
        (),
        ("status due",),
    ),
    Number(
        "status.late",
        "Executions of all tenants that have not started a second after their due time, and wait "
        "for the installation: none on hold, for a destination or for a tenant's own workers.",
        NOW,
        EXACT,
        (),
        (),
        ("status late",),
    ),
    Number(
        "status.tenants",
        "Due executions that wait for a tenant's matter: for a destination's limits or circuit, or "
        "for the tenant's own workers.",
        NOW,
        EXACT,
        (),
        (),
        ("status tenants.*",),
    ),
    Number(
        "status.open",
        "Executions of all tenants in a queue, running, or waiting for another attempt.",
        NOW,
        EXACT,
        (),
        (),
        ("status queued", "status running", "status retrying"),
    ),
    Number(
        "status.hour",
        "Executions of tasks, and runs of workflows once each, of all tenants, that ended so.",
        HOUR,
        RECORDED,
        (),
        (),
        ("status succeeded_last_hour", "status failed_last_hour"),
    ),
    Number(
        "status.start_delay_ms",
        "Percentiles of the start delays of first attempts, of all tenants.",
        HOUR,
        BUCKET,
        (),
        (),
        ("status start_delay_ms.*",),
    ),
    Number(
        "status.dead_letters_open",
        "Dead letters of all tenants that are not resolved.",
        NOW,
        EXACT,
        (),
        (),
        ("status dead_letters_open",),
    ),
    Number(
        "status.processes",
        "Live schedulers and recorders, workers of the installation that take work, and their "
        "slots.",
        NOW,
        SAID,
        (),
        (),
        ("status schedulers", "status workers", "status worker_slots", "status recorders"),
    ),
    Number(
        "partitions.owned",
        "Partitions with a live owner, and all of them.",
        NOW,
        EXACT,
        (),
        ("partitions.unowned", "picture.partitions"),
        (
            *("status partitions_owned", "status partitions_total"),
            *("schedulers-* partitions_owned", "schedulers-* partitions_total"),
        ),
    ),
    Number(
        "status.refused",
        "Writes of processes that had lost their work: outcomes, starts, leases of partitions.",
        "since Redis lost its data last",
        EXACT,
        (),
        (),
        ("status refused.*",),
    ),
)
PROCESSES = (
    Number(
        "scheduler.partitions",
        "Partitions that a scheduler owns.",
        NOW,
        EXACT,
        ("Scheduler.partitions",),
        ("scheduler.partitions",),
        ("schedulers-list schedulers.partitions",),
    ),
    Number(
        "process.silent_seconds",
        "Seconds since a scheduler, worker or recorder was heard.",
        NOW,
        "to a millisecond; workers are heard every second or so",
        ("Scheduler.silent_seconds", "Worker.silent_seconds", "Recorder.silent_seconds"),
        ("scheduler.silent_seconds", "worker.silent_seconds", "recorder.silent_seconds"),
        ("* *heartbeat_age_seconds",),
    ),
    Number(
        "worker.in_flight",
        "Requests in flight of a worker, of its slots; of a pull worker what it has leased.",
        NOW,
        f"{SAID}; of a pull worker exact",
        ("Worker.in_flight", "Worker.capacity"),
        ("worker.leased", "worker.slots", "worker.in_flight", "worker.capacity"),
        ("workers-* *in_flight", "workers-* *capacity", "workers-* *hold"),
    ),
    Number(
        "worker.held",
        "Executions that a worker keeps until their time or until a slot is free.",
        NOW,
        SAID,
        ("Worker.held",),
        ("worker.held",),
        ("workers-* *held",),
    ),
    Number(
        "worker.load",
        "Processor time in percent of one core, and memory, of a worker.",
        "the seconds before its last report",
        SAID,
        ("Worker.cpu_percent", "Worker.memory_bytes"),
        ("worker.cpu_percent", "worker.memory_bytes"),
        ("workers-* *cpu_percent", "workers-* *memory_bytes"),
    ),
    Number(
        "worker_minute.load",
        "Load of a worker by its last report within the minute.",
        _MINUTE,
        SAID,
        tuple(
            f"WorkerMinute.{name}"
            for name in ("capacity", "in_flight", "held", "cpu_percent", "memory_bytes")
        ),
        ("history.running.last", "history.cpu.last", "history.minute"),
    ),
    Number(
        "worker_minute.ended",
        "Attempts that ended in a worker within the minute.",
        _MINUTE,
        f"{SAID}; those of its last seconds are missing where it was killed",
        ("WorkerMinute.ended",),
        ("history.ended_by_row.last", "history.ended"),
        ("workers-* *ended",),
    ),
    Number(
        "worker_hour.load",
        "Means and maxima of the minutes of an hour, and their number.",
        _HOUR,
        "means to 0.1",
        tuple(
            f"WorkerHour.{name}"
            for name in (
                *("minutes", "capacity", "in_flight", "most_in_flight", "held", "most_held"),
                *("cpu_percent", "most_cpu_percent", "most_memory_bytes"),
            )
        ),
        ("history.hour", "history.running", "history.cpu", "history.ended_by_row"),
        ("workers-show history_by_hour.*",),
    ),
    Number(
        "worker_hour.ended",
        "Attempts that ended in a worker within the hour, or within all hours that are kept.",
        _HOUR,
        "the sum of its minutes",
        ("WorkerHour.ended", "EarlierWorker.ended"),
    ),
    Number(
        "recorder.pending",
        "Outcomes that a recorder has received and not written.",
        NOW,
        EXACT,
        ("Recorder.pending",),
        ("recorder.pending",),
    ),
    Number(
        "fleet.slots",
        "Requests in flight of all live workers of the installation, of their slots.",
        NOW,
        SAID,
        (),
        ("fleet.slots",),
    ),
    Number(
        "takeover.partitions",
        "Partitions that one scheduler took at one moment after they had none for more than a "
        "second, and the longest time for which one of them had none.",
        "the last 20 takeovers, as far back as the ledger's days",
        "exact; the time is an upper bound where a scheduler was lost",
        ("Takeover.partitions", "Takeover.unowned_seconds"),
        (),
        ("schedulers-takeovers takeovers.*",),
    ),
    Number(
        "lost.attempts",
        "Attempts of all tenants that were lost with a worker of the installation.",
        "a minute, or an hour that is added up, of the last 24 hours; 20 of them at most",
        RECORDED,
        ("LostAttempts.attempts",),
        (),
        ("schedulers-takeovers lost_attempts.*",),
    ),
    Number(
        "process.restarts",
        "Starts of a process by the supervisor after its first one.",
        "since `up` runs",
        EXACT,
        (),
        (),
        ("ps processes.restarts",),
    ),
)
