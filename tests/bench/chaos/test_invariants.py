from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from bench.chaos.invariants import INVARIANTS, broken
from executions.loop.clocks import database_now
from executions.models import Attempt, DeadLetter, Execution
from tests.factories import make_dead_letter, make_execution, make_tenant

pytestmark = pytest.mark.django_db


class Ledger:
    """The test's own database as a site."""

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def letters_broken() -> list[str]:
    return [line.split()[0] for line in broken(Ledger())]  # type: ignore[arg-type]  # rows is all it asks


@pytest.fixture(autouse=True)
def _a_ledger_with_every_end(db: None) -> None:
    alpha = make_tenant()
    for status in ("SUCCEEDED", "CANCELLED", "PENDING", "QUEUED", "RUNNING"):
        make_execution(alpha, status)
    make_dead_letter(alpha)


def test_a_sound_ledger_breaks_nothing():
    assert broken(Ledger()) == []  # type: ignore[arg-type]  # rows is all it asks


def test_an_execution_that_ended_twice_is_found():
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO events (tenant_id, name, subjects, tasks) "
            "SELECT tenant_id, name, subjects, tasks FROM events "
            "WHERE name = 'execution.succeeded'"
        )

    assert letters_broken() == ["I2"]


def test_attempts_that_are_not_numbered_one_by_one_are_found():
    Attempt.objects.filter(outcome="FAILED").update(number=3)

    assert letters_broken() == ["I3"]


def test_a_success_without_an_attempt_is_found():
    Attempt.objects.filter(outcome="SUCCEEDED").delete()

    assert letters_broken() == ["I5"]


def test_a_failure_without_a_dead_letter_is_found():
    DeadLetter.objects.all().delete()

    assert letters_broken() == ["I7"]


def test_a_lease_that_ended_long_ago_is_found():
    Execution.objects.filter(status="RUNNING").update(
        lease_expires_at=database_now() - timedelta(minutes=1)
    )

    assert letters_broken() == ["I8"]


def test_an_instant_with_two_rows_is_found():
    first, second = Execution.objects.filter(trigger="schedule")[:2]
    Execution.objects.filter(id=second.id).update(
        task_id=first.task_id, scheduled_for=first.scheduled_for
    )

    assert letters_broken() == ["I1"]


def test_a_token_that_does_not_rise_is_found():
    attempt = Attempt.objects.filter(outcome="FAILED").latest("number")
    Execution.objects.filter(id=attempt.execution_id).update(max_attempts=99)
    Attempt.objects.create(
        id=Execution.objects.earliest("id").id,
        execution_id=attempt.execution_id,
        tenant_id=attempt.tenant_id,
        number=attempt.number + 1,
        fencing_token=attempt.fencing_token,
        outcome="FAILED",
    )

    assert letters_broken() == ["I4"]


def test_every_invariant_has_a_letter_of_its_own():
    letters = [sentence.split()[0] for sentence in INVARIANTS]

    assert len(set(letters)) == len(letters)
