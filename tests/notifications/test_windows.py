"""Ended executions counted by rule and minute."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from notifications import judging
from notifications.alerter import Alerter
from notifications.incidents import count_findings
from notifications.models import RuleMinute
from notifications.windows import is_reached, sums_of
from tests.factories import make_tenant
from tests.notifications.rule_cast import Stage, counts, judge

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_alerter_that_dies_counts_a_window_once(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(make_tenant())
    stage.rule("dead_letter_rate", threshold=2)
    stage.failed(2)
    real = count_findings

    def die(*args: Any) -> None:
        real(*args)
        raise SystemExit("killed")

    monkeypatch.setattr(judging, "count_findings", die)
    with pytest.raises(SystemExit):
        Alerter().run_once()
    assert not RuleMinute.objects.exists()

    monkeypatch.setattr(judging, "count_findings", real)
    judge()
    judge()

    assert counts()["dead_letter_rate"] == 2
    assert [(row.ended, row.failed) for row in RuleMinute.objects.all()] == [(2, 2)]


def test_a_share_of_few_executions_says_nothing() -> None:
    stage = Stage(make_tenant())
    stage.rule("failure_share", threshold=1)

    stage.failed(9)
    judge()

    assert "failure_share" not in counts()


def test_minutes_behind_the_window_are_forgotten_and_those_within_add_up() -> None:
    stage = Stage(make_tenant())
    rule = stage.rule("failure_share", window_seconds=600)
    now = database_now()
    for ago, ended in ((0, 1), (9, 10), (11, 100), (60, 1000)):
        RuleMinute.objects.create(
            rule=rule,
            minute=(now - timedelta(minutes=ago)).replace(second=0, microsecond=0),
            ended=ended,
            failed=1,
        )

    assert sums_of({rule.id: 600}, now) == {rule.id: (11, 2)}
    assert RuleMinute.objects.count() == 2


@pytest.mark.parametrize(
    ("kind", "threshold", "ended", "failed", "reached"),
    [
        ("failure_share", 50, 10, 5, True),
        ("failure_share", 50, 11, 5, False),
        ("failure_share", 100, 9, 9, False),
        ("failure_share", 1, 0, 0, False),
        ("dead_letter_rate", 5, 5, 5, True),
        ("dead_letter_rate", 5, 5, 4, False),
    ],
)
def test_a_threshold_is_reached_at_its_number(
    kind: str, threshold: int, ended: int, failed: int, reached: bool
) -> None:
    assert is_reached(kind, threshold, ended, failed) is reached
