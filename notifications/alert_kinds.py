"""The kinds of alerts: what each judges, by which numbers, and how its alerts end.

One table for the services, the API, the console, the command and the reference page.
"""

from __future__ import annotations

from dataclasses import dataclass

from notifications.choices import AlertKind

DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a rule: its bounds, its value where none is given, and what it counts."""

    least: int
    most: int
    default: int
    meaning: str


@dataclass(frozen=True, slots=True)
class KindFacts:
    """What is true of every rule of a kind.

    ``built_in``: the rule exists for each tenant without being made. ``takes_scope``: it may cover
    some tasks only. ``ends_quietly``: its alerts are over when nothing was added for a quarter of
    an hour, and no message says so; others last until their condition ends.
    """

    opens: str
    closes: str
    threshold: Number | None = None
    window: Number | None = None
    built_in: bool = True
    urgent: bool = False
    takes_scope: bool = True
    ends_quietly: bool = False
    #: Whether it calls for attention soon, not at once.
    is_warning: bool = False
    #: The first word of a message's subject.
    word: str = "alert"


_WINDOW = "seconds to look back over"
_QUIET = "when none was added for 15 minutes"

KINDS: dict[str, KindFacts] = {
    AlertKind.FIRST_FAILURE: KindFacts(
        "the first attempt of an execution failed, and another follows",
        _QUIET,
        ends_quietly=True,
        is_warning=True,
        word="failing",
    ),
    AlertKind.FINAL_FAILURE: KindFacts(
        "an execution failed for good",
        "when the latest execution of each of its tasks succeeded, or when none was added for "
        "15 minutes",
        ends_quietly=True,
        word="failed",
    ),
    AlertKind.FAILURES_IN_A_ROW: KindFacts(
        "as many executions of a task as the threshold failed for good without a success between",
        "when an execution of the task succeeds, or the task is deleted",
        threshold=Number(2, 1000, 3, "failures in a row"),
        built_in=False,
        word="failed",
    ),
    AlertKind.FAILURE_SHARE: KindFacts(
        "the share of failed executions among those that ended within the window reached the "
        "threshold; at least 10 must have ended",
        "when the share is below the threshold",
        threshold=Number(1, 100, 50, "percent of the executions that ended"),
        window=Number(300, DAY, 3600, _WINDOW),
        built_in=False,
        word="failing",
    ),
    AlertKind.LATE_START: KindFacts(
        "an execution started later after its due time than its task's target, or than the window "
        "where the task has none",
        _QUIET,
        window=Number(1, DAY, 60, "seconds after the due time"),
        built_in=False,
        is_warning=True,
        ends_quietly=True,
        word="late",
    ),
    AlertKind.DID_NOT_RUN: KindFacts(
        "an instant of a schedule has not started 15 seconds after its task's target, or within "
        "the window where the task has none",
        "when no such instant is left",
        window=Number(16, DAY, 20, "seconds after the due time"),
        word="did not run",
    ),
    AlertKind.RUNS_TOO_LONG: KindFacts(
        "an execution runs longer than its task's target, or than the window where the task has "
        "none",
        "when no such execution is left",
        window=Number(1, 30 * DAY, 3600, "seconds since the start of its attempt"),
        built_in=False,
        is_warning=True,
        word="too long",
    ),
    AlertKind.CIRCUIT_OPEN: KindFacts(
        "the circuit of a destination opened: calls to it wait",
        "when the circuit closes",
        takes_scope=False,
        word="circuit open",
    ),
    AlertKind.DEAD_LETTER_RATE: KindFacts(
        "as many executions as the threshold became dead letters within the window",
        "when fewer did within the window",
        threshold=Number(1, 1_000_000, 10, "dead letters"),
        window=Number(300, DAY, 3600, _WINDOW),
        built_in=False,
        word="dead letters",
    ),
    AlertKind.QUOTA_NEAR: KindFacts(
        "80 % of a quota of stored things are used",
        "when its share is below 70 %",
        takes_scope=False,
        is_warning=True,
        word="quota",
    ),
    AlertKind.BUDGET_EXCEEDED: KindFacts(
        "an instant was skipped because a budget of its task is used up",
        "when the budget's day or month ends",
        word="budget",
    ),
    AlertKind.ERROR_BUDGET_BURN: KindFacts(
        "an error budget of the installation is used up at least 14.4 times as fast as allowed "
        "over an hour, and over the last five minutes, too",
        "when it is used more slowly",
        takes_scope=False,
        word="burning",
    ),
    AlertKind.APPROVAL_WAITING: KindFacts(
        "a step of a workflow waits for an approval for as long as the window",
        "when the step no longer waits",
        window=Number(0, 30 * DAY, 0, "seconds of waiting"),
        is_warning=True,
        word="approve",
    ),
    AlertKind.DEADLINE_PASSED: KindFacts(
        "a run of a workflow failed because its deadline had passed",
        _QUIET,
        ends_quietly=True,
        word="deadline passed",
    ),
    AlertKind.COMPENSATION_FAILED: KindFacts(
        "a call that should have undone a step failed for good",
        _QUIET,
        urgent=True,
        ends_quietly=True,
        word="not undone",
    ),
    AlertKind.NO_WORKER: KindFacts(
        "work of a pool is due for as long as the window, and the pool has no worker",
        "when the pool has a worker, or nothing is due",
        window=Number(30, DAY, 60, "seconds without a worker"),
        takes_scope=False,
        word="no worker",
    ),
    AlertKind.INSTALLATION_UNHEALTHY: KindFacts(
        "a part of the installation does not work",
        "when it works again",
        urgent=True,
        takes_scope=False,
        word="unhealthy",
    ),
}
#: The kinds whose rules look back over a window of ended executions.
OF_WINDOWS = (AlertKind.FAILURE_SHARE, AlertKind.DEAD_LETTER_RATE)
#: A share of fewer ended executions says nothing.
LEAST_ENDED = 10
