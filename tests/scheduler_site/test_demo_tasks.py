from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from scheduler_site import demo_tasks
from scheduler_site.receiver_answers import Answers
from scheduler_site.receiver_messages import Request
from shared.addresses import AllowList
from tasks.limits import Limits
from tasks.validation import parse_create

NOW = datetime(2026, 11, 20, 8, 0, 30, tzinfo=UTC)
LIMITS = Limits(payload_bytes=1024, allow_list=AllowList(("127.0.0.1/32",)))
BODIES = {item["name"]: item for item in demo_tasks.bodies("http://127.0.0.1:8001/", NOW)}


@pytest.mark.parametrize("name", BODIES)
def test_each_task_is_valid_and_calls_a_path_that_the_receiver_has(name: str):
    body = BODIES[name]

    parse_create(body, now=NOW, limits=LIMITS)

    path = body["target"]["url"].removeprefix("http://127.0.0.1:8001")
    assert Answers().answer(Request("POST", path)).status not in (400, 404)
    assert body["labels"][demo_tasks.LABEL] in ("live", "history")


def test_the_past_is_the_same_every_time_and_spares_the_last_hour():
    ids = {name: uuid4() for name in BODIES}

    first, second = demo_tasks.history(ids, NOW), demo_tasks.history(ids, NOW)

    assert first == second
    assert len({sample.id for sample in first}) == len(first)
    assert min(sample.at for sample in first) >= NOW - timedelta(hours=24)
    assert max(sample.finished_at(sample.attempts) for sample in first) < NOW - timedelta(hours=1)


def test_three_causes_failed_among_much_that_did_not():
    samples = demo_tasks.history({name: uuid4() for name in BODIES}, NOW)

    causes = {sample.signature for sample in samples if sample.error_code}
    assert causes == {"http_status:503", "timeout_total", "connection_refused"}
    assert sum(bool(sample.error_code) for sample in samples) < len(samples) / 10
