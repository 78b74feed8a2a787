"""The start guard's limits of a tenant, beside those of the destination, on a clock of the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from shared.redis_client import INCARNATION_KEY, client
from tests.support.scripts import FAR, HOST, Moved
from wire import start_guard
from worker.entries import Question, ask_arguments

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")

TENANT, OTHER = HOST.partition(":")[0], "01890000-0000-7000-8000-000000000009"


def ask(
    redis: Moved,
    *tokens: int,
    tenant: str = TENANT,
    tenant_limits: str = "1,2,",
    destination: str = HOST,
    limits: str = "",
    start_by: int = FAR,
) -> list[Any]:
    questions = [
        Question(token, start_by, 1, destination, limits, 30_000, tenant, tenant_limits)
        for token in tokens
    ]
    names, arguments = ask_arguments(start_guard.current_incarnation(), "w1", questions)
    return list(redis.run("start", [INCARNATION_KEY, *names], arguments))


def words(verdicts: Sequence[Any]) -> list[object]:
    return [verdict if isinstance(verdict, int) else verdict[0] for verdict in verdicts]


def left(redis: Moved, name: str, *tokens: int) -> None:
    redis.report(destination=name, left=tokens)


@pytest.mark.parametrize("destination", [HOST, ""])
def test_no_more_of_a_tenant_are_in_flight_than_allowed(destination: str):
    redis = Moved()

    verdicts = ask(redis, 1, 2, 3, destination=destination)

    assert words(verdicts) == [start_guard.PLACED] * 2 + [start_guard.TENANT_NO_PLACE]
    assert verdicts[2][1] > redis.now
    left(redis, TENANT, 1)
    assert words(ask(redis, 4, 5, destination=destination)) == [
        start_guard.PLACED,
        start_guard.TENANT_NO_PLACE,
    ]


def test_all_destinations_of_a_tenant_share_its_places_and_another_tenant_has_its_own():
    redis = Moved()
    ask(redis, 1, 2)

    assert words(ask(redis, 3, destination=f"{TENANT}:other.example.com")) == [
        start_guard.TENANT_NO_PLACE
    ]
    assert words(ask(redis, 4, tenant=OTHER, destination=f"{OTHER}:a.example.com")) == [
        start_guard.PLACED
    ]
    assert words(redis.ask(5)) == [start_guard.GO]


def test_a_full_destination_takes_no_place_of_the_tenant():
    redis = Moved()
    ask(redis, 1, limits="1,1,")

    assert words(ask(redis, 2, limits="1,1,")) == [start_guard.NO_PLACE]
    assert client().zcard(f"punctual:flying:{TENANT}") == 1


def test_a_full_tenant_takes_no_slot_of_the_destination():
    redis = Moved()
    ask(redis, 1, tenant_limits="1,1,", limits="1,,1.0")

    assert words(ask(redis, 2, tenant_limits="1,1,", limits="1,,1.0")) == [
        start_guard.TENANT_NO_PLACE
    ]
    left(redis, TENANT, 1)
    redis.at = 1_000
    assert words(ask(redis, 3, tenant_limits="1,1,", limits="1,,1.0")) == [start_guard.PLACED]


def test_a_rate_of_the_tenant_keeps_near_slots_and_refuses_far_ones():
    redis = Moved()

    verdicts = ask(redis, 1, 2, 3, 4, tenant_limits="1,,1.0")

    assert words(verdicts) == [
        start_guard.GO,
        start_guard.SLOT_KEPT,
        start_guard.SLOT_KEPT,
        start_guard.TENANT_NO_SLOT,
    ]
    redis.at = 1_000
    assert words(ask(redis, 2, tenant_limits="1,,1.0")) == [start_guard.GO]


def test_a_slot_is_one_moment_for_the_destination_and_its_tenant():
    redis = Moved()
    ask(redis, 1, tenant_limits="1,,1.0", limits="1,,10.0")

    [(verdict, moment)] = ask(redis, 2, tenant_limits="1,,1.0", limits="1,,10.0")

    assert (verdict, moment) == (start_guard.SLOT_KEPT, redis.now + 1_000)
    redis.at = 1_000
    assert words(ask(redis, 2, tenant_limits="1,,1.0", limits="1,,10.0")) == [start_guard.GO]


def test_the_slower_of_the_two_says_why():
    redis = Moved()
    ask(redis, 1, 2, 3, tenant_limits="1,,100.0", limits="1,,1.0")

    assert words(ask(redis, 4, tenant_limits="1,,100.0", limits="1,,1.0")) == [start_guard.NO_SLOT]


def test_a_question_that_is_asked_again_keeps_its_place():
    redis = Moved()

    assert words(ask(redis, 1)) == words(ask(redis, 1)) == [start_guard.PLACED]
    assert client().zcard(f"punctual:flying:{TENANT}") == 1


def test_a_place_that_a_dead_worker_kept_ends_with_its_run():
    redis = Moved()
    ask(redis, 1, 2)

    redis.at = 60_000

    assert words(ask(redis, 3, 4)) == [start_guard.PLACED] * 2


def test_places_that_are_noted_after_a_loss_count():
    redis = Moved()
    redis.run("note_places", [f"punctual:flying:{TENANT}"], [1, 30_000, 2, 30_000])

    assert words(ask(redis, 3)) == [start_guard.TENANT_NO_PLACE]
    left(redis, TENANT, 1)
    assert words(ask(redis, 3)) == [start_guard.PLACED]
