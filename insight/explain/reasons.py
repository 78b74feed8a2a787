"""Every reason word of the ledger: its meaning, and the check of Explain that it belongs to.

``docs/reference/reasons.md`` is written from this table; tests hold the page to it, and the table
to the words that the code writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """One word: the check that explains it, the states that carry it, and its meaning."""

    check: str
    states: str
    meaning: str


REASONS: Mapping[str, Reason] = {
    "paused": Reason(
        "task_active",
        "SKIPPED, EXPECTED",
        "The instant fell into a pause whose `on_resume` is `skip`; or it will, as planned now.",
    ),
    "paused_coalesced": Reason(
        "task_active",
        "SKIPPED, any, EXPECTED",
        "It fell into a pause whose `on_resume` is `run_once`: SKIPPED, because one run on "
        "resuming covered the whole pause. That run carries the same reason.",
    ),
    "paused_replayed": Reason(
        "task_active",
        "any, EXPECTED",
        "It fell into a pause whose `on_resume` is `replay`, and runs afterwards.",
    ),
    "run_paused": Reason(
        "task_active",
        "PENDING, RUNNING, RETRYING",
        "Of a step: its run is paused. It starts when the run is resumed; a running one may end.",
    ),
    "place_paused": Reason(
        "task_active",
        "PENDING, RUNNING, RETRYING",
        "Of a step: its pool or destination is paused. It starts when that pause ends; a running "
        "one may end.",
    ),
    "tenant_suspended": Reason(
        "tenant_active",
        "SKIPPED, EXPECTED, PENDING, RETRYING",
        "SKIPPED: the instant fell into a suspension of the tenant, and the task's misfire policy "
        "does not run it. On work that waits: it starts when the tenant is resumed.",
    ),
    "suspended_coalesced": Reason(
        "tenant_active",
        "any",
        "It ran when the tenant was resumed, once for all instants of the suspension: the misfire "
        "policy is `coalesce`.",
    ),
    "suspended_replayed": Reason(
        "tenant_active",
        "any",
        "It fell into a suspension of the tenant, and runs afterwards: the misfire policy is "
        "`replay`, or the task has this one instant.",
    ),
    "calendar_excluded": Reason(
        "calendar", "SKIPPED, EXPECTED", "A calendar of the task excludes the instant."
    ),
    "not_prepared": Reason(
        "prepared",
        "EXPECTED",
        "Its time has passed and no scheduler has decided on it; the misfire policy will.",
    ),
    "late_no_scheduler": Reason(
        "due",
        "any",
        "On an occurrence: no scheduler ran when it was due, for at most `missed_after_seconds`. "
        "It starts late, several of one task one after the other.",
    ),
    "late": Reason(
        "due",
        "any",
        "On an occurrence: it started more than a second after it was due, for example because no "
        "worker was free. Explain names the cause.",
    ),
    "misfire_skipped": Reason(
        "misfire", "SKIPPED", "It was missed while no scheduler ran; the policy is `skip`."
    ),
    "misfire_coalesced": Reason(
        "misfire",
        "SKIPPED, any",
        "It was missed, and the policy is `coalesce`: SKIPPED, because one run covers all missed "
        "instants. That run carries the same reason.",
    ),
    "misfire_replayed": Reason(
        "misfire", "any", "It was missed, and runs afterwards: the policy is `replay`."
    ),
    "misfire_grace_exceeded": Reason(
        "misfire", "SKIPPED", "It was missed by more than `misfire_grace_seconds`."
    ),
    "dependency_failed": Reason(
        "dependencies",
        "SKIPPED, FAILED",
        "A task that it depends on had ended without success when its time came; "
        "`on_dependency_failure` is `skip`, or `fail`.",
    ),
    "budget_exceeded": Reason(
        "budget",
        "SKIPPED",
        "Nothing was left of the task's budget for the day or month when it came due.",
    ),
    "overlap_skipped": Reason(
        "overlap",
        "SKIPPED",
        "An earlier run held the place when it was due; the policy is `skip`, or another was "
        "waiting already (`queue_one`).",
    ),
    "overlap_cancelled": Reason(
        "overlap", "CANCELLED", "It was cancelled for the next one; the policy is `cancel_running`."
    ),
    "job_cancelled": Reason(
        "bulk_job", "CANCELLED", "The bulk job that made it was cancelled before it started."
    ),
    "task_cancelled": Reason(
        "task_active", "CANCELLED", "Its task was cancelled before it started."
    ),
    "task_deleted": Reason("task_exists", "CANCELLED", "Its task was deleted before it started."),
    "cancel_requested": Reason(
        "running", "RUNNING", "It is being cancelled; its worker aborts the request."
    ),
    "cancelled": Reason("outcome", "CANCELLED", "A person or a program cancelled it."),
    "worker_lost": Reason(
        "retry", "RETRYING, any", "The worker of an attempt went silent; another attempt follows."
    ),
    "attempts_exhausted": Reason(
        "outcome", "FAILED", "The last attempt that the retry policy allows has failed."
    ),
    "not_retryable": Reason(
        "outcome", "FAILED", "The answer is one that the retry policy does not try again."
    ),
    "max_age_exceeded": Reason(
        "outcome",
        "FAILED",
        "The next attempt would have begun more than `max_age_seconds` after its time.",
    ),
    "poisoned": Reason(
        "outcome", "FAILED", "Three workers were lost while they ran it; it is not tried again."
    ),
    "demo_history": Reason(
        "outcome", "any", "Invented by `demo seed` as history to look at; no request was sent."
    ),
    "tenant_limit": Reason(
        "tenant_limit",
        "PENDING, RETRYING",
        "A limit of its tenant is reached, of executions, runs or steps in flight, or of starts "
        "per second; it waits until the tenant is below it. For executions the event "
        "`execution.deferred` says which, and until when.",
    ),
    "runs_wait_for_each_other": Reason(
        "outcome",
        "FAILED",
        "Of a run that a step asked for: it waited for a place of its workflow or key, and the run "
        "that has the place waited for a run above this one.",
    ),
    "circuit_open": Reason(
        "destination",
        "PENDING, RETRYING",
        "Most calls to its destination failed; it waits until the circuit closes.",
    ),
    "destination_rate": Reason(
        "destination",
        "PENDING, RETRYING",
        "The limit of starts per second of its destination is reached; it waits for its turn.",
    ),
    "destination_in_flight": Reason(
        "destination",
        "PENDING, RETRYING",
        "The limit of concurrent requests of its destination is reached; it waits for its turn.",
    ),
}


def meaning_of(word: str) -> str:
    """Return the meaning of a reason as plain text; of an unknown one, a sentence with its word."""
    found = REASONS.get(word)
    return found.meaning.replace("`", "") if found else f"The reason is {word}."


def render_reasons() -> str:
    """Return the reference page as Markdown."""
    lines = [
        f"| `{word}` | {reason.states} | {reason.meaning} | `{reason.check}` |"
        for word, reason in REASONS.items()
    ]
    return "\n".join([_HEAD, *lines, ""])


_HEAD = """# Reasons

Written from `insight/explain/reasons.py`; tests hold this page to it, and it to the code. An
execution has a reason, and so has an occurrence (`GET /v1/tasks/{id}/occurrences`). There, an
instant without a row yet has the status `EXPECTED`. *any* is every state of an execution that
runs or ran. The last column names the check of
[Explain](../howto/find-out-why-it-did-not-run.md) that gives the details.

| Reason | States | Meaning | Check |
|---|---|---|---|"""
