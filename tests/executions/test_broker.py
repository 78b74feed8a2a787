"""Publishing: the message arrives as it was, and a broker that is away is told at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import redis

from executions.broker import DELIVER, RUN_BULK_JOB, probe, publish, publish_system_job
from scheduler_site.broker import broker_url
from scheduler_site.celery import app
from shared.redis_client import client
from tests.support.killable_valkey import KillableValkey

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")

NOTHING: Any = {}


def test_a_message_waits_in_its_queue_as_json_without_a_due_time() -> None:
    message: Any = {"executions": [{"id": "a", "due": 1.5}], "bytes": 10}
    publish("default.high", message)

    envelope = orjson.loads(client().lrange("default.high", 0, 0)[0])
    args, _, _ = orjson.loads(envelope["body"])
    headers = envelope["headers"]
    assert args == [{"executions": [{"id": "a", "due": 1.5}], "bytes": 10}]
    assert (headers["task"], headers["eta"], headers["ignore_result"]) == (DELIVER, None, True)
    assert envelope["content-type"] == "application/x-orjson"
    assert (headers["argsrepr"], headers["kwargsrepr"]) == ("", "")


def test_a_job_for_the_system_worker_waits_in_its_queue() -> None:
    publish_system_job(RUN_BULK_JOB, "a", "b")

    envelope = orjson.loads(client().lrange("system", 0, 0)[0])
    args, _, _ = orjson.loads(envelope["body"])
    assert (args, envelope["headers"]["task"]) == (["a", "b"], RUN_BULK_JOB)


def test_bands_do_not_share_a_queue() -> None:
    publish("default.high", NOTHING)
    publish("default.low", NOTHING)

    assert [client().llen(f"default.{band}") for band in ("high", "normal", "low")] == [1, 0, 1]


def test_a_probe_tells_nothing_where_a_message_could_be_handed_over() -> None:
    probe()

    assert client().keys("default.*") == []


def test_a_probe_fails_where_redis_answers_and_takes_no_write() -> None:
    client().config_set("maxmemory", "1")
    try:
        assert client().ping()
        with pytest.raises(redis.ConnectionError):
            probe()
    finally:
        client().config_set("maxmemory", "0")


def test_a_probe_fails_where_the_broker_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app.conf, "broker_url", "redis://127.0.0.1:1/0")

    with pytest.raises(redis.ConnectionError):
        probe()


def test_a_broker_that_is_away_is_told_at_once_and_used_again_when_it_is_back(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("kombu.utils.functional.sleep", slept.append)
    valkey = KillableValkey(Path(tmp_path_factory.mktemp("broker")))
    usual, app.conf.broker_url = app.conf.broker_url, broker_url(valkey.url)
    try:
        publish("default.high", NOTHING)
        valkey.kill()
        for _ in range(3):
            with pytest.raises(redis.ConnectionError):
                publish("default.high", NOTHING)
        # Kombu's default sleeps 2, 4, 6 s: a scheduler would lose its partitions.
        assert not any(slept)
        valkey.start()
        publish("default.high", NOTHING)
    finally:
        app.conf.broker_url = usual
        valkey.remove()
