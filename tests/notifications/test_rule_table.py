"""The table of kinds and events: what opens an alert of which kind, once, and what ends it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from executions.dispatch import circuits
from executions.loop.clocks import database_now
from notifications.choices import ALERT_KINDS, AlertKind
from notifications.models import Alert, RuleMinute
from shared.instants import format_instant
from tasks.models import Task
from tests.factories import make_tenant
from tests.notifications.rule_cast import HOST, UNDONE, Stage, counts, judge
from tests.support.circuits import live
from wire.destination_key import key_of

pytestmark = pytest.mark.django_db(transaction=True)

JUDGED_BY_EVENTS = {
    "first_failure",
    "final_failure",
    "failures_in_a_row",
    "failure_share",
    "circuit_open",
    "dead_letter_rate",
    "quota_near",
    "budget_exceeded",
    "compensation_failed",
}
Event = Callable[[Stage], object]


def near(stage: Stage) -> None:
    stage.told("quota.near", quota="stored_tasks", limit=10, used=8, share=0.8)


def eased(stage: Stage) -> None:
    stage.told("quota.no_longer_near", quota="stored_tasks")


def near_and_eased(stage: Stage) -> None:
    near(stage)
    eased(stage)


def spent(stage: Stage) -> None:
    stage.budget_exceeded(format_instant(database_now() + timedelta(hours=1)))


def opened(stage: Stage) -> None:
    live().report(20, 20, destination=key_of(stage.tenant.id, HOST))


def half_of_ten(stage: Stage) -> None:
    stage.succeeded(5)
    stage.failed(5)


def four_undone(stage: Stage) -> None:
    for _ in range(4):
        stage.step_failed(UNDONE)


#: Event -> what it opens: kind -> count. A kind that is left out does not fire.
TABLE: dict[str, tuple[Event, dict[str, int]]] = {
    "first attempt failed": (Stage.retried, {"first_failure": 1}),
    "failed for good": (Stage.failed, {"final_failure": 1}),
    "failed twice": (
        lambda stage: stage.failed(2),
        {"final_failure": 2, "failures_in_a_row": 2},
    ),
    "half of ten failed": (
        half_of_ten,
        {"final_failure": 5, "failures_in_a_row": 5, "failure_share": 5, "dead_letter_rate": 5},
    ),
    "succeeded": (Stage.succeeded, {}),
    "step failed": (lambda stage: stage.step_failed(-1), {}),
    "compensation failed": (lambda stage: stage.step_failed(UNDONE), {"compensation_failed": 1}),
    "four compensations failed": (
        four_undone,
        {"compensation_failed": 4, "dead_letter_rate": 4},
    ),
    "replay into another place failed": (Stage.replay_failed, {"final_failure": 1}),
    "quota near": (near, {"quota_near": 1}),
    "quota near and no longer": (near_and_eased, {}),
    "quota no longer near": (eased, {}),
    "budget exceeded": (spent, {"budget_exceeded": 1}),
    "budget near": (lambda stage: stage.told("budget.near"), {}),
    "circuit opened": (opened, {"circuit_open": 1}),
    "task changed": (lambda stage: stage.told("task.changed"), {}),
}


@pytest.fixture
def stage() -> Stage:
    made = Stage(make_tenant("acme"))
    made.rule("failures_in_a_row", threshold=2)
    made.rule("failure_share", threshold=50)
    made.rule("dead_letter_rate", threshold=4)
    return made


@pytest.mark.parametrize("event", TABLE)
def test_an_event_fires_what_the_table_says_and_once(stage: Stage, event: str) -> None:
    happen, fires = TABLE[event]

    happen(stage)
    judge()
    judge()

    found = counts()
    assert {kind: found.get(kind, 0) for kind in ALERT_KINDS} == {
        kind: fires.get(kind, 0) for kind in ALERT_KINDS
    }
    assert Alert.objects.count() == len(fires)


def test_every_kind_that_is_judged_by_events_fires_somewhere() -> None:
    assert set().union(*(fires for _, fires in TABLE.values())) == JUDGED_BY_EVENTS


def succeeds(stage: Stage) -> None:
    stage.succeeded(1)


def mostly_succeeds(stage: Stage) -> None:
    stage.succeeded(10)


def window_passes(stage: Stage) -> None:
    RuleMinute.objects.update(minute=database_now() - timedelta(hours=2))


def period_ends(stage: Stage) -> None:
    Alert.objects.update(ends_at=database_now(), next_notice_at=database_now())
    judge()


def task_deleted(stage: Stage) -> None:
    Task.objects.update(deleted_at=database_now())


def closes(stage: Stage) -> None:
    circuits.forget(key_of(stage.tenant.id, HOST))


#: Event that opened, what happens then, what has recovered.
ENDS: dict[str, tuple[Event, Event, set[str]]] = {
    "success": (TABLE["failed twice"][0], succeeds, {"final_failure", "failures_in_a_row"}),
    "failure": (TABLE["failed twice"][0], Stage.failed, set()),
    "task deleted": (TABLE["failed twice"][0], task_deleted, {"failures_in_a_row"}),
    "replay": (Stage.replay_failed, succeeds, set()),
    "share falls": (
        half_of_ten,
        mostly_succeeds,
        {"final_failure", "failures_in_a_row", "failure_share"},
    ),
    "window passes": (half_of_ten, window_passes, {"failure_share", "dead_letter_rate"}),
    "first failure": (Stage.retried, succeeds, set()),
    "compensation": (TABLE["compensation failed"][0], succeeds, set()),
    "quota": (near, eased, {"quota_near"}),
    "quota stays": (near, succeeds, set()),
    "budget": (spent, period_ends, {"budget_exceeded"}),
    "circuit": (opened, closes, {"circuit_open"}),
    "circuit stays": (opened, succeeds, set()),
}


@pytest.mark.parametrize("case", ENDS)
def test_an_alert_ends_by_what_the_table_says(stage: Stage, case: str) -> None:
    opens, happen, ended = ENDS[case]
    opens(stage)
    judge()
    before = set(counts())

    happen(stage)
    judge()

    recovered = Alert.objects.filter(recovered_at__isnull=False).values_list("kind", flat=True)
    assert set(recovered) == ended
    assert set(counts()) == before - ended


def test_the_kinds_that_end_are_all_that_do_not_end_quietly() -> None:
    ended = set().union(*(ended for _, _, ended in ENDS.values()))

    assert ended == JUDGED_BY_EVENTS - {AlertKind.FIRST_FAILURE, AlertKind.COMPENSATION_FAILED}
