"""The recorder: batches, acknowledgment after the commit, stale tokens, what cannot be stored."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
import redis
from django.db import OperationalError
from pytest_django import Settings

from executions.complete.outcome_stream import SIDE_LIST, ensure_group
from executions.complete.stage import Recorder
from executions.loop import refusals
from executions.models import Attempt, DeadLetter, Execution
from executions.payloads import progress_of, result_of
from shared.conf import conf
from shared.encryption import seal
from shared.redis_client import OUTCOME_GROUP, OUTCOME_STREAM, client
from shared.sealing_contexts import progress_context, result_context
from tenants.models import Tenant
from tests.factories import make_task, once, pass_guard, prepare, release
from wire import outcomes, start_guard
from wire.messages import Claimed

pytestmark = pytest.mark.django_db
FINISH = "executions.transitions.finish"
ACKNOWLEDGE = "executions.complete.outcome_stream.OutcomeConsumer.acknowledge"


@pytest.fixture(autouse=True)
def _group(db: None) -> None:
    ensure_group()


def recorder(name: str = "r1") -> Recorder:
    return Recorder(name, block_seconds=0.01)


def queued(tenant: Tenant, count: int = 1) -> list[Claimed]:
    """Return executions of new one-time tasks as a worker holds them."""
    for _ in range(count):
        make_task(tenant, once())
    prepare()
    return release()


def row(claimed: Claimed, verb: str = "succeeded", **parts: Any) -> Any:
    """Return what a worker says of an execution."""
    now = time.time()
    return {
        "verb": verb,
        "id": str(claimed.id),
        "token": claimed.token,
        "attempt": 1,
        "worker": "w1",
        "started": now - 0.02,
        "at": now,
        "outcome": "SUCCEEDED" if verb == "succeeded" else "FAILED",
        "status": 200 if verb == "succeeded" else 500,
        **parts,
    }


def say(*rows: Any) -> None:
    say_raw(outcomes.joined(map(outcomes.encode, rows)))


def say_raw(data: bytes) -> None:
    client().xadd(OUTCOME_STREAM, {"d": data})


def status_of(claimed: Claimed) -> str:
    return Execution.objects.get(id=claimed.id).status


def pending() -> int:
    return int(client().xpending(OUTCOME_STREAM, OUTCOME_GROUP)["pending"])


def set_aside() -> list[Any]:
    return [orjson.loads(line) for line in client().lrange(SIDE_LIST, 0, -1)]


def test_entries_are_recorded_together_then_acknowledged_and_trimmed(alpha: Tenant) -> None:
    first, second, third = queued(alpha, 3)
    say(row(first), row(second, "retrying", retry_in=60.0, error_code="http_status"))
    say(row(third, "failed", reason="attempts_exhausted", error_code="http_status"))

    counts = recorder().run_once()

    assert (counts.done, counts.refused) == (3, 0)
    assert [status_of(one) for one in (first, second, third)] == ["SUCCEEDED", "RETRYING", "FAILED"]
    assert Attempt.objects.count() == 3
    assert DeadLetter.objects.get().execution_id == third.id
    assert (client().xlen(OUTCOME_STREAM), pending()) == (0, 0)


def test_start_and_end_of_one_batch_are_one_attempt(alpha: Tenant) -> None:
    (claimed,) = queued(alpha)
    say(row(claimed, "started"))
    recorder().run_once()
    assert status_of(claimed) == "RUNNING"

    say(row(claimed, "started"), row(claimed))
    recorder().run_once()

    execution = Execution.objects.get(id=claimed.id)
    assert (execution.status, execution.attempt, execution.worker) == ("SUCCEEDED", 1, "w1")
    assert Attempt.objects.get().number == 1


def test_what_a_worker_hands_back_waits_again_without_an_attempt(alpha: Tenant) -> None:
    (claimed,) = queued(alpha)
    say({"verb": "released", "id": str(claimed.id), "token": claimed.token})

    recorder().run_once()

    execution = Execution.objects.get(id=claimed.id)
    assert (execution.status, execution.attempt) == ("PENDING", 0)


def deferred(claimed: Claimed, reason: str = "circuit_open", **parts: Any) -> Any:
    made = {"verb": "deferred", "id": str(claimed.id), "token": claimed.token, "reason": reason}
    return {**made, "until": time.time() + 30, **parts}


def test_what_finds_no_room_at_its_destination_is_parked_without_an_attempt(alpha: Tenant) -> None:
    (claimed,) = queued(alpha)
    say(deferred(claimed))

    recorder().run_once()

    execution = Execution.objects.get(id=claimed.id)
    assert (execution.status, execution.attempt, execution.parked) == ("PENDING", 0, True)
    assert (execution.reason, execution.due_at) == ("circuit_open", claimed.due_at)
    assert execution.lease_expires_at is None


def test_a_stale_deferral_changes_nothing_and_a_made_up_reason_is_set_aside(alpha: Tenant) -> None:
    (claimed,) = queued(alpha)
    say(deferred(claimed, token=claimed.token + 1), deferred(claimed, reason="x"))

    recorder().run_once()

    assert status_of(claimed) == "QUEUED"


@pytest.mark.parametrize(
    ("said", "woken"),
    [
        ({"verb": "retrying", "retry_in": 0.4}, True),
        ({"verb": "retrying", "retry_in": 3600.0}, False),
        ({"verb": "released"}, True),
        ({"verb": "succeeded"}, False),
    ],
)
def test_schedulers_are_woken_for_what_is_due_again_soon(
    alpha: Tenant, on_commit: Callable[..., Any], said: Any, woken: bool
) -> None:
    # Asleep for up to five seconds, a scheduler would make a retry after 0.4 s one after five.
    (claimed,) = queued(alpha)
    say({**row(claimed), **said})

    with on_commit() as callbacks:
        recorder().run_once()

    assert bool(callbacks) == woken


def test_a_captured_answer_and_its_timings_are_kept(alpha: Tenant) -> None:
    (claimed,) = queued(alpha)
    say(row(claimed, sealed=b"sealed", timings={"total": 1.234}))

    recorder().run_once()

    attempt = Attempt.objects.get()
    assert bytes(attempt.sealed_response or b"") == b"sealed"
    assert attempt.timings == {"total": 1.234}


def test_progress_and_result_of_a_run_are_kept(alpha: Tenant) -> None:
    (one,) = queued(alpha)
    far = {"verb": "progress", "id": str(one.id), "token": one.token}
    say(
        {**far, "sealed": seal(b'{"row":7}', progress_context(one.tenant_id, one.id))},
        row(one, result=seal(b'{"rows":9}', result_context(one.tenant_id, one.id))),
    )

    recorder().run_once()

    execution = Execution.objects.get(pk=one.id)
    assert (progress_of(execution), result_of(execution)) == ({"row": 7}, {"rows": 9})
    assert execution.status == "SUCCEEDED"


def test_a_process_of_a_worker_that_died_counts_as_a_loss(alpha: Tenant) -> None:
    (one,) = queued(alpha)
    say(row(one, "failed", outcome="WORKER_LOST", reason="poisoned", lost=1, status=None))

    recorder().run_once()

    execution = Execution.objects.get(pk=one.id)
    assert (execution.status, execution.reason, execution.lost_count) == ("FAILED", "poisoned", 1)


def test_a_stale_token_changes_nothing_and_is_counted(alpha: Tenant) -> None:
    (claimed,) = queued(alpha)
    stale = claimed._replace(token=claimed.token + 1000)
    say(row(stale, "failed"), row(claimed))

    counts = recorder().run_once()

    assert (counts.done, counts.refused) == (1, 1)
    assert refusals.read()["outcomes"] == 1
    assert status_of(claimed) == "SUCCEEDED"
    assert not DeadLetter.objects.exists()


def test_nothing_is_acknowledged_when_the_database_is_away(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    (claimed,) = queued(alpha)
    say(row(claimed))
    one = recorder()
    with monkeypatch.context() as away:
        away.setattr(FINISH, _raise(OperationalError("away")))
        with pytest.raises(OperationalError):
            one.run_once()

    # At once and by itself: no other recorder has to notice first.
    assert pending() == 1
    assert one.run_once().done == 1
    assert (status_of(claimed), pending()) == ("SUCCEEDED", 0)


def test_a_recorder_that_dies_after_its_commit_is_repeated_without_effect(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    (claimed,) = queued(alpha)
    say(row(claimed, "failed", reason="attempts_exhausted"))
    with monkeypatch.context() as dying:
        dying.setattr(
            "executions.complete.outcome_stream.OutcomeConsumer.acknowledge",
            _raise(redis.ConnectionError("killed")),
        )
        with pytest.raises(redis.ConnectionError):
            recorder("dies").run_once()
    monkeypatch.setattr("executions.complete.outcome_stream._CLAIM_AFTER_MS", 0)

    counts = recorder("other").run_once()

    assert (counts.done, counts.refused) == (0, 1)
    assert (Attempt.objects.count(), DeadLetter.objects.count(), pending()) == (1, 1, 0)


def test_after_failures_one_entry_is_tried_at_a_time(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for claimed in queued(alpha, 3):
        say(row(claimed))
    one = recorder()
    with monkeypatch.context() as away:
        away.setattr(FINISH, _raise(OperationalError("too much")))
        for _ in range(3):
            with pytest.raises(OperationalError):
                one.run_once()

    assert [one.run_once().done for _ in range(2)] == [1, 2]


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b'{"outcomes": []}', b"\xff", b"\x01\x05", b"\x01\xff\xff\xff\xff"),
        outcomes.joined([b"\x02" + b"\x00" * 11 + b"{}"]),
        *(outcomes.joined([frame]) for frame in (b"\x01", b"\x00", b"\x07")),
    ],
)
def test_an_entry_that_makes_no_sense_does_not_hold_up_the_stream(
    alpha: Tenant, data: bytes
) -> None:
    (claimed,) = queued(alpha)
    say_raw(data)
    say(row(claimed))

    assert recorder().run_once().done == 1

    assert (status_of(claimed), pending(), client().xlen(OUTCOME_STREAM)) == ("SUCCEEDED", 0, 0)
    assert len(set_aside()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"verb": "exploded"},
        {"id": "no uuid"},
        {"outcome": "WHATEVER"},
        {"started": "noon"},
        {"at": 1e300},
        {"token": 2**63 + 5},
        {"status": 70000},
        {"error_message": "a\0b"},
    ],
)
def test_one_outcome_that_cannot_be_stored_is_set_aside_and_the_others_are_recorded(
    alpha: Tenant, wrong: Any
) -> None:
    claims = queued(alpha, 5)
    say(*[{**row(one), **(wrong if one is claims[2] else {})} for one in claims])

    assert recorder().run_once().done == 4

    assert [status_of(one) for one in claims].count("SUCCEEDED") == 4
    assert status_of(claims[2]) == "QUEUED"
    assert len(set_aside()) == 1
    assert pending() == 0


def test_an_unknown_execution_is_counted_as_stale(alpha: Tenant) -> None:
    (claimed,) = queued(alpha)
    say({**row(claimed), "id": "01930000-0000-8000-8000-000000000000"})

    assert recorder().run_once().refused == 1
    assert pending() == 0


def test_the_side_list_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("executions.complete.outcome_stream._SIDE_LIST_LENGTH", 2)
    for _ in range(3):
        say_raw(b"x" * 10_000)

    recorder().run_once()

    assert [len(line["data"]) for line in set_aside()] == [4096, 4096]


def test_a_large_batch_is_written_in_several_transactions(
    alpha: Tenant, settings: Settings
) -> None:
    settings.PUNCTUAL = replace(conf(), recorder_batch=2)
    say(*[row(one) for one in queued(alpha, 5)])

    assert recorder().run_once().done == 5


@pytest.mark.parametrize(("count", "gathered"), [(1, 0.02), (3, 0.06), (20, 0.1), (25, 0.0)])
def test_the_more_comes_the_longer_it_is_gathered_but_a_full_batch_is_followed_at_once(
    alpha: Tenant, settings: Settings, count: int, gathered: float
) -> None:
    settings.PUNCTUAL = replace(conf(), outcome_batch=25, recorder_gather_seconds=0.1)
    say(*[row(one) for one in queued(alpha, count)])

    assert recorder().run_once().next_in == pytest.approx(gathered)


def test_marks_of_recorded_tokens_go_soon(alpha: Tenant) -> None:
    (claimed,) = queued(alpha)
    assert pass_guard([claimed]) == [start_guard.GO]
    say(row(claimed))

    recorder().run_once()

    assert 0 < client().ttl(f"punctual:guard:{claimed.token}") <= 60


def test_an_idle_recorder_asks_for_the_next_call_at_once_and_has_blocked() -> None:
    counts = Recorder("r1", block_seconds=0.05).run_once()

    assert (counts.done, counts.next_in) == (0, 0.0)


def _raise(error: Exception) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail
