from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from operations import demo_tasks
from operations.history_samples import Sample
from receiver.answers import Answers
from receiver.messages import Request
from shared.addresses import AllowList
from shared.backoff import bounds
from tasks.definition import Definition
from tasks.limits import Limits
from tasks.schedules.spec import parse
from tasks.validation.bodies import parse_create

NOW = datetime(2026, 11, 20, 8, 0, 30, tzinfo=UTC)
LIMITS = Limits(payload_bytes=1024, allow_list=AllowList(("127.0.0.1/32",)))
BODIES: dict[str, dict[str, Any]] = {
    item["name"]: item for item in demo_tasks.bodies("http://127.0.0.1:8001/", NOW)
}


@pytest.mark.parametrize("name", BODIES)
def test_each_task_is_valid_and_calls_a_path_that_the_receiver_has(name: str):
    body = BODIES[name]

    parse_create(body, now=NOW, limits=LIMITS)

    path = body["target"]["url"].removeprefix("http://127.0.0.1:8001")
    assert Answers().answer(Request("POST", path)).status not in (400, 404)
    assert body["labels"][demo_tasks.LABEL] in ("live", "history")


DEFINITIONS = {name: parse_create(body, now=NOW, limits=LIMITS) for name, body in BODIES.items()}


def past(ids: dict[str, UUID] | None = None) -> list[Sample]:
    return demo_tasks.history(ids or {name: uuid4() for name in BODIES}, DEFINITIONS, NOW)


def test_the_past_is_the_same_every_time_and_spares_the_last_hour():
    ids = {name: uuid4() for name in BODIES}

    first, second = past(ids), past(ids)

    assert first == second
    assert len({sample.id for sample in first}) == len(first)
    assert min(sample.at for sample in first) >= NOW - timedelta(hours=24)
    assert max(sample.finished_at(sample.attempts) for sample in first) < NOW - timedelta(hours=1)


def test_three_causes_failed_among_much_that_did_not():
    samples = past()

    causes = {sample.signature for sample in samples if sample.error_code}
    assert causes == {"http_status:503", "timeout_total", "connection_refused"}
    assert sum(bool(sample.error_code) for sample in samples) < len(samples) / 10


def with_a_past() -> list[tuple[Definition, list[Sample]]]:
    ids = {name: uuid4() for name in BODIES}
    samples = past(ids)
    return [
        (DEFINITIONS[name], [one for one in samples if one.task_id == task_id])
        for name, task_id in ids.items()
        if BODIES[name]["labels"][demo_tasks.LABEL] == "history"
    ]


def test_every_instant_of_the_past_is_one_of_its_schedule_and_none_is_left_out():
    for known, samples in with_a_past():
        instants = [one.at for one in samples]
        first, last = instants[0] - timedelta(microseconds=1), instants[-1]
        expected = parse(known.type, known.schedule).between(first, last, 10_000)

        assert instants == [one.at for one in expected], known.name
        assert len(instants) > 20


def test_no_attempt_of_the_past_breaks_the_limits_of_its_task():
    for known, samples in with_a_past():
        policy, limit = known.retry_policy, timedelta(seconds=known.target["timeout_seconds"])
        for sample in samples:
            assert sample.timeout_seconds == known.target["timeout_seconds"]
            assert sample.max_attempts == policy["max_attempts"]
            tried_to_the_end = sample.attempts == policy["max_attempts"]
            assert tried_to_the_end if sample.error_code else sample.attempts == 1
            for number in range(1, sample.attempts + 1):
                assert sample.finished_at(number) - sample.started_at(number) <= limit
                assert sample.due_at(number) <= sample.started_at(number)
            for number in range(1, sample.attempts):
                waited = sample.due_at(number + 1) - sample.finished_at(number)
                low, high = bounds(policy, number)
                assert low <= waited.total_seconds() <= high
            if sample.error_code == "timeout_total":
                assert timedelta(milliseconds=sample.duration_ms) == limit
