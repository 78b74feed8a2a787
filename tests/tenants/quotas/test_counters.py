from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection, transaction

from events import outbox
from shared import sql
from shared.ids import new_id
from shared.redis_client import QUOTA_PREFIX, client, lua
from tenants.models import Tenant
from tenants.quotas import counters
from tenants.quotas.counters import Amount, Refused
from tenants.quotas.limits import Limits
from tests.support.closed_redis import closed_redis

pytestmark = pytest.mark.django_db(transaction=True)
LIMITS = Limits(stored_tasks=10, stored_payload_bytes=1000)


class Clock:
    """Redis' clock as the scripts read it; it stands still."""

    def __init__(self) -> None:
        self.seconds = 2_000_000_000.0

    def script(self, name: str) -> str:
        text, asks = lua(name), "redis.call('TIME')"
        assert text.count(asks) == 1
        return text.replace(asks, f"{{'{int(self.seconds)}', '{round(self.seconds % 1 * 1e6)}'}}")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(counters, "lua", found.script)
    return found


@pytest.fixture
def tenant() -> UUID:
    return new_id()


def counted(tenant: UUID, tasks: int, payload_bytes: int = 0) -> None:
    seen = counters.look(tenant, apart_seconds=0)
    assert seen is not None
    counters.count(tenant, seen, Amount(tasks, payload_bytes))


def used(tenant: UUID) -> Amount:
    found = counters.read(tenant)
    assert found is not None
    return found.stored


def test_without_a_count_nothing_is_reserved(tenant: UUID):
    assert counters.reserve(tenant, Amount(1), LIMITS) is False
    assert counters.read(tenant) is None


def test_a_reservation_counts_until_the_limit(tenant: UUID):
    counted(tenant, 8)

    with transaction.atomic():
        assert counters.reserve(tenant, Amount(2), LIMITS) is True
        assert counters.reserve(tenant, Amount(1), LIMITS) == Refused("stored_tasks", 10)
        assert counters.held_here(tenant) == Amount(2)

    assert used(tenant) == Amount(10)
    assert counters.held_here(tenant) == Amount()


def test_bytes_are_a_quota_of_their_own(tenant: UUID):
    counted(tenant, 0, 900)

    with transaction.atomic():
        found = counters.reserve(tenant, Amount(1, 101), LIMITS)

    assert found == Refused("stored_payload_bytes", 900)
    assert used(tenant) == Amount(0, 900)


def test_what_adds_nothing_to_a_full_quota_is_not_refused_for_it(tenant: UUID):
    counted(tenant, 12, 900)

    with transaction.atomic():
        assert counters.reserve(tenant, Amount(0, 50), LIMITS) is True


def test_a_rollback_releases(tenant: UUID):
    counted(tenant, 5)

    with transaction.atomic():
        counters.reserve(tenant, Amount(3), LIMITS)
        assert used(tenant) == Amount(8)
        transaction.set_rollback(True)

    assert used(tenant) == Amount(5)


def test_a_rollback_to_a_savepoint_releases_what_was_reserved_within(tenant: UUID):
    counted(tenant, 5)

    with transaction.atomic():
        counters.reserve(tenant, Amount(1), LIMITS)
        with transaction.atomic():
            counters.reserve(tenant, Amount(2), LIMITS)
            transaction.set_rollback(True)
        assert counters.held_here(tenant) == Amount(1)

    assert used(tenant) == Amount(6)


def test_a_count_has_what_was_open_at_the_look_or_reserved_since_besides(tenant: UUID):
    counted(tenant, 1)
    with transaction.atomic():
        other = counters._Held(tenant, Amount(2))
        counters._ask(tenant, "reserve", 2, 0, other.member, 10, -1, 60_000)
        seen = counters.look(tenant, apart_seconds=0)
        counters.reserve(tenant, Amount(3), LIMITS)
        assert seen is not None
        # The database has the rows of this session, not those of the other one.
        own_rows = Amount(1 + 3)
        counters.count(tenant, seen, Amount(own_rows.tasks - 3))

    assert used(tenant).tasks >= 1 + 2


def test_a_transaction_that_counts_leaves_its_own_reservation_out(tenant: UUID):
    counted(tenant, 4)
    with transaction.atomic():
        counters.reserve(tenant, Amount(3), LIMITS)
        # The session sees its own three rows.
        counted(tenant, 7)
        assert used(tenant) == Amount(7)

    counted(tenant, 7)
    assert used(tenant) == Amount(7)


def test_a_reservation_whose_process_has_ended_expires(tenant: UUID, clock: Clock):
    counted(tenant, 4)
    counters._ask(tenant, "reserve", 3, 0, "gone 3 0", 10, -1, 120_000)
    counted(tenant, 4)
    assert used(tenant) == Amount(7)

    clock.seconds += counters.OPEN_SECONDS
    counted(tenant, 4)

    assert used(tenant) == Amount(4)


def test_of_many_that_would_count_one_does(tenant: UUID, clock: Clock):
    counted(tenant, 4)

    assert counters.look(tenant, apart_seconds=5) is None
    clock.seconds += 5
    assert counters.look(tenant, apart_seconds=5) is not None
    assert counters.look(tenant, apart_seconds=5) is None


def test_redis_that_was_emptied_between_look_and_count_does_no_harm(tenant: UUID):
    counted(tenant, 4)
    with transaction.atomic():
        counters.reserve(tenant, Amount(3), LIMITS)
    seen = counters.look(tenant, apart_seconds=0)
    client().flushall()
    assert seen is not None

    counters.count(tenant, seen, Amount(7))

    assert used(tenant) == Amount(7)


def spent(tenant: UUID, tasks: int, rate: int) -> bool:
    found = counters.spend(tenant, tasks, rate)
    assert found is not None
    return found.allowed


def test_a_rate_gives_two_seconds_at_once_and_then_its_pace(tenant: UUID, clock: Clock):
    assert [spent(tenant, 10, 10) for _ in range(3)] == [True, True, False]

    clock.seconds += 1

    assert spent(tenant, 10, 10)
    refused = counters.spend(tenant, 1, 10)
    assert refused is not None
    assert not refused.allowed
    assert refused.wait_seconds == pytest.approx(0.1)


def test_a_large_call_passes_while_nothing_is_owed_and_counts_in_full(tenant: UUID, clock: Clock):
    passed = counters.spend(tenant, 100, 10)
    refused = counters.spend(tenant, 1, 10)
    assert passed is not None
    assert refused is not None
    assert (passed.allowed, refused.allowed) == (True, False)
    assert refused.wait_seconds == pytest.approx(8.1)

    clock.seconds += 8.2

    assert spent(tenant, 1, 10)


def test_asking_spends_nothing_and_a_refusal_neither(tenant: UUID):
    for _ in range(3):
        found = counters.spend(tenant, 0, 10)
        assert found is not None
        assert (found.allowed, found.owed_seconds) == (True, 0)
    counters.spend(tenant, 15, 10)
    assert not spent(tenant, 10, 10)

    assert spent(tenant, 5, 10)


def test_a_clock_set_back_does_not_lock_a_tenant_out(tenant: UUID, clock: Clock):
    counters.spend(tenant, 20, 1)

    clock.seconds -= 1_000_000

    assert spent(tenant, 1, 1)


def test_while_redis_is_away_there_is_no_answer_and_no_error(
    tenant: UUID, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(counters, "client", closed_redis)
    monkeypatch.setattr(counters, "_away_until", float("-inf"))
    monkeypatch.setattr(counters, "_failing", False)

    with transaction.atomic():
        assert counters.reserve(tenant, Amount(1), LIMITS) is None
    assert counters.look(tenant, apart_seconds=0) is None
    assert counters.read(tenant) is None
    assert counters.spend(tenant, 1, 1) is None


def test_a_redis_that_was_away_is_not_asked_for_a_while(
    tenant: UUID, monkeypatch: pytest.MonkeyPatch
):
    asked = []

    def away() -> object:
        asked.append(1)
        return closed_redis()

    monkeypatch.setattr(counters, "client", away)
    monkeypatch.setattr(counters, "_away_until", float("-inf"))
    monkeypatch.setattr(counters, "_failing", False)

    for _ in range(5):
        counters.read(tenant)

    assert len(asked) == 1


def test_what_redis_keeps_of_a_tenant_expires_by_itself(tenant: UUID):
    counted(tenant, 1)
    with transaction.atomic():
        counters.reserve(tenant, Amount(1), LIMITS)
        counters.spend(tenant, 1, 1)
        keys = list(client().scan_iter(f"{QUOTA_PREFIX}{tenant}*"))
        assert len(keys) == 3
        assert all(client().pttl(key) > 0 for key in keys)


def test_a_settled_reservation_is_committed_for_every_session(alpha: Tenant):
    seen: list[int] = []

    def count() -> None:
        with psycopg.connect(**connection_to_the_database()) as other:
            [(found,)] = other.execute("SELECT count(*) FROM events WHERE name = 'test.done'")
            seen.append(found)

    with sql.sent_with_commit():
        transaction.on_commit(count)
        asked = outbox.appending(alpha.id, "test.done", [(alpha.id, None)])
        sql.at_last(asked, then=lambda _: None)

    assert seen == [1]


def connection_to_the_database() -> dict[str, Any]:
    parameters = connection.get_connection_params()
    kept = ("dbname", "user", "password", "host", "port")
    return {name: parameters[name] for name in kept if parameters.get(name)}


def test_one_call_finds_out_whether_redis_is_back(tenant: UUID, monkeypatch: pytest.MonkeyPatch):
    answers: list[object] = []

    def away() -> object:
        # Another call comes while this one waits for an answer.
        if not answers:
            answers.append(counters.read(tenant))
        answers.append("asked")
        return closed_redis()

    monkeypatch.setattr(counters, "client", away)
    monkeypatch.setattr(counters, "_failing", True)
    monkeypatch.setattr(counters, "_away_until", float("-inf"))

    counters.read(tenant)

    assert answers == [None, "asked"]


def test_of_passes_that_overlap_one_goes_on(tenant: UUID):
    assert counters.begin_pass()
    assert not counters.begin_pass()

    counters.move_pass(str(tenant))
    assert counters.continues_pass(str(tenant))
    assert not counters.continues_pass(str(new_id()))
    assert not counters.begin_pass()

    counters.move_pass(None)
    assert counters.begin_pass()


def test_a_pass_goes_on_while_redis_is_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(counters, "client", closed_redis)

    counters.move_pass("x")
    assert counters.begin_pass()
    assert counters.continues_pass("x")
