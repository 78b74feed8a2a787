"""Every metric of an installation: name, labels, unit, what it says and what to do about it.

``/metrics`` shows these and no others, and ``docs/reference/metrics.md`` is written from this list.
Names and labels are promises to dashboards and alert rules: a rename breaks them. The values of a
label are few and known, except for pools, operations and, on request, some tenants.
"""

from __future__ import annotations

from collections.abc import Mapping

from executions.choices import AttemptOutcome, Trigger
from executions.ledger.objectives import OWN_FAULTS
from executions.ledger.totals import DURATION_BUCKETS_MS
from executions.loop import refusals
from executions.models.minute_stat import START_DELAY_BUCKETS_MS
from insight.metrics.metric import Metric, Type
from shared.tracing import sending
from shared.web_counts import AREAS, BOUNDS_MS, METHODS, STATUSES

_KINDS = {"kind": ("task", "workflow")}
_ENDS = ("succeeded", "failed")
_LOWER_OUTCOMES = tuple(str(one).lower() for one in AttemptOutcome)

METRICS: tuple[Metric, ...] = (
    Metric(
        "tasks_scheduled_total",
        Type.COUNTER,
        "Executions of tasks and workflows that were written to the ledger, ahead of their time.",
        "Compare its rate with that of `tasks_executed_total`: a lasting gap is work that piles "
        "up. An edit or a pause takes prepared work back, and it counts again when it is written "
        "anew.",
        ("trigger",),
        {"trigger": tuple(str(one) for one in Trigger)},
    ),
    Metric(
        "tasks_executed_total",
        Type.COUNTER,
        "Executions of tasks and runs of workflows that succeeded or failed for good. Steps of "
        "workflows are not among them.",
        "The throughput. Where it falls to zero while `queue_depth` rises, see workers and "
        "recorders.",
        ("kind", "status"),
        {**_KINDS, "status": _ENDS},
    ),
    Metric(
        "tasks_failed_total",
        Type.COUNTER,
        "The failed ones among `tasks_executed_total`.",
        "Alert where its rate is over 1 % of that of `tasks_executed_total`; then read the dead "
        "letters by cause.",
        ("kind",),
        _KINDS,
    ),
    Metric(
        "execution_delay_seconds",
        Type.HISTOGRAM,
        "From the due time of an execution to the start of its first attempt, counted when that "
        "attempt ends; steps of workflows, too. Without work for tenants' own workers.",
        "Alert where the 99th percentile is over 5 s; `punctual_waiting_seconds` tells whether "
        "schedulers or workers are slow.",
        bounds_ms=START_DELAY_BUCKETS_MS,
        unit="seconds",
    ),
    Metric(
        "queue_depth",
        Type.GAUGE,
        "Due executions that have not started: `due` are not handed out yet, `parked` wait for "
        "their destination, `queued` are with a worker. A value of 50,000 means at least that.",
        "Alert where the sum is over 1,000 for minutes: add workers, or see which destination "
        "holds work back.",
        ("stage",),
        {"stage": ("due", "parked", "queued")},
    ),
    Metric(
        "worker_utilization",
        Type.GAUGE,
        "The part of the slots of a pool's live workers that is in use, 0 to 1.",
        "Alert where it is over 0.8 for minutes: add workers or raise WORKER_CAPACITY.",
        ("pool",),
        unit="ratio",
    ),
    Metric(
        "punctual_waiting_seconds",
        Type.HISTOGRAM,
        "Of each attempt: from the later of its due time and its handing out to its start, the "
        "time in the broker and in a worker.",
        "High: too few slots or a slow destination. Low while `execution_delay_seconds` is high: "
        "schedulers hand out late.",
        bounds_ms=START_DELAY_BUCKETS_MS,
        unit="seconds",
    ),
    Metric(
        "punctual_attempt_duration_seconds",
        Type.HISTOGRAM,
        "From the start of an attempt to its end.",
        "Long durations hold slots: see the destinations page for the slow ones.",
        bounds_ms=DURATION_BUCKETS_MS,
        unit="seconds",
    ),
    Metric(
        "punctual_attempts_total",
        Type.COUNTER,
        "Attempts that ended, of tasks and of steps, by outcome.",
        "`timed_out`: receivers hang. `worker_lost`: workers die or lose Redis; read their log.",
        ("outcome",),
        {"outcome": _LOWER_OUTCOMES},
    ),
    Metric(
        "punctual_retries_total",
        Type.COUNTER,
        "Attempts after which another one was planned.",
        "A rise without final failures is a receiver that is flaky.",
    ),
    Metric(
        "punctual_steps_total",
        Type.COUNTER,
        "Steps of workflows that succeeded or failed for good; each item of a fan-out is one.",
        "Failed steps may be tolerated by their run: see `punctual_workflow_runs_total`.",
        ("status",),
        {"status": _ENDS},
    ),
    Metric(
        "punctual_workflow_runs_total",
        Type.COUNTER,
        "Runs of workflows that ended, by their status; each retry of a run ends once more.",
        "Failed runs have a dead letter: mend them from its page.",
        ("status",),
        {"status": (*_ENDS, "cancelled")},
    ),
    Metric(
        "punctual_workflow_runs_open",
        Type.GAUGE,
        "Runs of workflows in flight. A value of 50,000 means at least that.",
        "Runs that only pile up wait for an event, an approval or a quota.",
    ),
    Metric(
        "punctual_executions_running",
        Type.GAUGE,
        "Executions under way, without runs of workflows. A value of 50,000 means at least that.",
        "Compare it with the slots of the workers.",
    ),
    Metric(
        "punctual_pull_queue_depth",
        Type.GAUGE,
        "Due executions that wait for tenants' own workers, at most 50,000.",
        "The tenants' workers are slow or away; nothing of this installation is late by it.",
    ),
    Metric(
        "punctual_oldest_due_seconds",
        Type.GAUGE,
        "How long the oldest due work has waited that has not started; 0 where none waits. Of more "
        "than 50,000, the oldest of those that `queue_depth` counts.",
        "Alert over 60: schedulers, workers or Redis do not do their work; `manage.py doctor` "
        "says which.",
        unit="seconds",
    ),
    Metric(
        "punctual_missed_total",
        Type.COUNTER,
        "Instants that passed without a scheduler for longer than 15 s, by what the misfire "
        "policy of their task decided.",
        "Must stay 0. A rise is an outage of all schedulers: see which instants by `explain`.",
        ("decision",),
        {"decision": ("skipped", "coalesced", "replayed", "grace_exceeded")},
    ),
    Metric(
        "punctual_own_faults_total",
        Type.COUNTER,
        "Attempts that ended by a fault of Punctual's own, by its cause; failures of receivers and "
        "of tenants' workers are not among them.",
        "Must stay near 0: with `punctual_missed_total` it spends the error budget of success.",
        ("cause",),
        {"cause": tuple(sorted(OWN_FAULTS))},
    ),
    Metric(
        "punctual_lease_expiries_total",
        Type.COUNTER,
        "Leases that ran out: on partitions of a dead scheduler, and on executions that a worker "
        "or a holder did not end or release in time.",
        "A rise without a restart of yours: processes die or hang; read their log.",
        ("lease",),
        {"lease": ("partition", "execution")},
    ),
    Metric(
        "punctual_refused_writes_total",
        Type.COUNTER,
        "Writes and starts that were refused because their process had lost the work. Counted in "
        "Redis, as long as it keeps its data.",
        "The guard works. A steady rise: processes freeze or their clocks leap.",
        ("kind",),
        {"kind": (refusals.OUTCOMES, refusals.STARTS, refusals.LEASES)},
    ),
    Metric(
        "punctual_dead_letters_total",
        Type.COUNTER,
        "Dead letters that were made.",
        "Alert on its rate; the page of dead letters groups them by cause.",
    ),
    Metric(
        "punctual_dead_letters_open",
        Type.GAUGE,
        "Dead letters that wait for a decision, up to 10,000 of each tenant and 50,000 of all; up "
        "to 15 s old.",
        "Retry or resolve them once the cause is mended.",
    ),
    Metric(
        "punctual_circuits",
        Type.GAUGE,
        "Destinations whose circuit is open or half open, of the 1,000 that were conspicuous last.",
        "Open: a receiver keeps failing and is spared; see the destinations page.",
        ("state",),
        {"state": ("open", "half_open")},
    ),
    Metric(
        "punctual_alert_deliveries_total",
        Type.COUNTER,
        "Notices that ended, by channel and result.",
        "`failed`: a mail server, push service or channel refuses; see the alert's deliveries.",
        ("channel", "result"),
        {
            "channel": ("email", "push", "console", "webhook", "chat"),
            "result": ("sent", "failed", "suppressed"),
        },
    ),
    Metric(
        "punctual_partitions",
        Type.GAUGE,
        "Partitions by whether a scheduler owns them.",
        "Alert where `unowned` is above 0 for a minute: tasks of these partitions do not run.",
        ("state",),
        {"state": ("owned", "unowned")},
    ),
    Metric(
        "punctual_partition_unowned_seconds",
        Type.GAUGE,
        "How long the partition has been without a scheduler that has waited longest; 0 where "
        "each has one, or where none ever had one.",
        "Over 30: start a scheduler, or see why none takes over.",
        unit="seconds",
    ),
    Metric(
        "punctual_schedulers",
        Type.GAUGE,
        "Live schedulers.",
        "Alert below 1; below 2 nothing takes over at once.",
    ),
    Metric(
        "punctual_recorders",
        Type.GAUGE,
        "Live recorders.",
        "Alert below 1: outcomes wait in Redis until one is back.",
    ),
    Metric(
        "punctual_workers",
        Type.GAUGE,
        "Workers by pool and state. All workers of tenants are one pool, `pull`.",
        "`lost`: fell silent within the last day; their work was taken back. `quiet`: an operator "
        "made them take no new work. `draining`: they end when they are empty.",
        ("pool", "state"),
    ),
    Metric(
        "punctual_worker_slots",
        Type.GAUGE,
        "Slots of the live workers of a pool.",
        "The size of the pool; `worker_utilization` is the part in use.",
        ("pool",),
    ),
    Metric(
        "punctual_due_without_worker",
        Type.GAUGE,
        "Due executions in a pool without a worker that takes work, up to 1,000 of each pool. "
        "Pools that no worker of the last day had are one, `other`; up to 15 s old.",
        "Above 0: start a worker of that pool (`run_worker --pool`), or mend the task that names "
        "a pool that there is not.",
        ("pool",),
    ),
    Metric(
        "punctual_outcomes_waiting",
        Type.GAUGE,
        "Entries of the outcome stream: `unread` wait for a recorder, `unwritten` are with one.",
        "Alert over 1,000 unread: raise RECORDERS, or see what slows the database.",
        ("state",),
        {"state": ("unread", "unwritten")},
    ),
    Metric(
        "punctual_outcome_lag_seconds",
        Type.GAUGE,
        "Age of the oldest outcome that is not written yet.",
        "Alert over 10: recorders read and cannot write; read their log.",
        unit="seconds",
    ),
    Metric(
        "punctual_database_snapshot_seconds",
        Type.GAUGE,
        "Age of the oldest snapshot of a session of PostgreSQL in this database, as far as the "
        "owner of the tables may see sessions.",
        "Over 300: an open transaction keeps old versions of rows, and claims slow down; "
        "`manage.py doctor` names the session.",
        unit="seconds",
    ),
    Metric(
        "punctual_clock_skew_seconds",
        Type.GAUGE,
        "By how much the clock of a process differs from that of Redis at most, as far as proven.",
        "Over 0.1: mend the time synchronisation of that machine; `manage.py doctor` names it.",
        unit="seconds",
    ),
    Metric(
        "punctual_client_certificate_end_timestamp_seconds",
        Type.GAUGE,
        "When the first of the client certificates ends that workers have shown to receivers "
        "within the last day, in seconds since 1970; absent where targets have none.",
        "Within 14 days: the workers' log has `client_certificate.ends` with the tenant.",
        unit="seconds",
    ),
    Metric(
        "punctual_api_keys_ending",
        Type.GAUGE,
        "API keys that end within 7 days although programs use them: used within the last 30 days, "
        "made for longer than that, and not rotated. At most 1,000; up to 15 s old.",
        "Rotate them before they end: `manage.py apikey list` shows their ends.",
    ),
    Metric(
        "punctual_http_requests_total",
        Type.COUNTER,
        "Answered requests by operation (the name of the route), method and class of status. "
        "Counted in Redis, from its last start on; a killed web process loses its last second.",
        "`5xx`: read the web processes' log by the trace id of the answer.",
        ("operation", "method", "status"),
    ),
    Metric(
        "punctual_http_request_duration_seconds",
        Type.HISTOGRAM,
        "How long web processes worked on requests, by area.",
        "A slow `api` with a quick database: too few web processes (WEBS).",
        ("area",),
        {"area": AREAS},
        BOUNDS_MS,
        "seconds",
    ),
    Metric(
        "punctual_spans_total",
        Type.COUNTER,
        "Spans of recorded traces, of all processes: `sent` were taken by the receiver, `dropped` "
        "found the queue full or were not taken. Counted in Redis.",
        "`dropped` rises: the receiver is away or too slow, or too many traces are recorded "
        "(OTEL_TRACES_SAMPLER_ARG); executions do not wait for it.",
        ("result",),
        {"result": (sending.SENT, sending.DROPPED)},
    ),
    Metric(
        "punctual_tenant_lag_seconds",
        Type.GAUGE,
        "How long the oldest due work of a tenant has waited: the METRICS_TENANTS most delayed "
        "tenants by their ids, and the worst of all others as `other`. Off by default.",
        "One tenant alone is late: see its limits and shares.",
        ("tenant",),
        unit="seconds",
    ),
    Metric(
        "punctual_source_up",
        Type.GAUGE,
        "Whether this scrape could read PostgreSQL and Redis; without one its metrics are absent.",
        "Alert on 0: nothing runs without either.",
        ("source",),
        {"source": ("postgresql", "redis")},
    ),
    Metric(
        "punctual_build_info",
        Type.GAUGE,
        "1, with the version of the web process as its label.",
        "Shows which version answers during an upgrade.",
        ("version",),
    ),
)
BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}
#: What the labels of HTTP metrics may say; operations are names of routes.
HTTP_LABELS = {"method": METHODS, "status": STATUSES}
