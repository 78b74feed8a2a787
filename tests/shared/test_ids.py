from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ids import (
    attempt_id,
    execution_id,
    first_id_at,
    milliseconds,
    moment_of,
    new_id,
    partition_of,
    series_id,
)

TASK = UUID("0190b1c0-0000-7000-8000-000000000001")
AT = datetime(2027, 3, 28, 1, 30, 0, 123456, tzinfo=UTC)
MOMENTS = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - hypothesis wants naive bounds
    max_value=datetime(9999, 1, 1),  # noqa: DTZ001 - hypothesis wants naive bounds
    timezones=st.just(UTC),
)


def test_the_same_occurrence_is_the_same_id_everywhere():
    # A fixed value: schedulers of different versions must agree on it.
    assert execution_id(TASK, AT) == execution_id(TASK, AT)
    assert str(execution_id(TASK, AT)).startswith(f"{milliseconds(AT):012x}"[:8])


@pytest.mark.parametrize(
    "other",
    [
        execution_id(uuid4(), AT),
        execution_id(TASK, AT + timedelta(microseconds=1)),
        execution_id(TASK, AT, "backfill:1"),
    ],
)
def test_another_task_instant_or_series_is_another_id(other: UUID):
    assert other != execution_id(TASK, AT)


@given(st.uuids(), MOMENTS)
def test_an_execution_lies_within_the_millisecond_of_its_time(task: UUID, at: datetime):
    found = execution_id(task, at)

    assert found.version == 8
    assert found.variant == "specified in RFC 4122"
    assert first_id_at(at) <= found < first_id_at(at + timedelta(milliseconds=1))
    assert moment_of(found) <= at < moment_of(found) + timedelta(milliseconds=1)


@given(MOMENTS, MOMENTS)
def test_ids_sort_as_their_times_do(one: datetime, other: datetime):
    if milliseconds(one) < milliseconds(other):
        assert execution_id(TASK, one) < execution_id(TASK, other)


def test_a_series_of_its_own_lies_on_its_own_day():
    old = datetime(2020, 1, 1, tzinfo=UTC)

    found = series_id(TASK, AT, old, "backfill:1")

    assert moment_of(found).date() == AT.date()
    assert found != series_id(TASK, AT, old + timedelta(seconds=1), "backfill:1")


def test_an_attempt_lies_on_the_day_of_its_execution():
    execution = execution_id(TASK, AT)

    first, second = attempt_id(execution, 1, 5), attempt_id(execution, 2, 5)

    assert moment_of(first) == moment_of(execution)
    assert len({first, second, attempt_id(execution, 1, 6), execution}) == 4
    assert attempt_id(execution, 1, 5) == first


def test_new_ids_are_of_now_and_differ():
    before = datetime.now(UTC) - timedelta(milliseconds=2)

    made = [new_id() for _ in range(100)]

    assert len(set(made)) == 100
    assert all(one.version == 7 for one in made)
    assert before <= moment_of(made[0]) <= datetime.now(UTC)


def test_an_id_of_a_time_that_no_datetime_holds_is_of_the_year_9999():
    assert moment_of(UUID(int=2**128 - 1)) == datetime(9999, 1, 1, tzinfo=UTC)


def test_moments_before_1970_have_the_lowest_bound():
    assert first_id_at(datetime(1960, 1, 1, tzinfo=UTC)) == UUID(int=0)


def test_tasks_spread_evenly_over_the_partitions():
    counts = Counter(partition_of(uuid4(), 8) for _ in range(4000))

    assert set(counts) == set(range(8))
    assert max(counts.values()) < 2 * min(counts.values())
