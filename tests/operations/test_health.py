"""Liveness asks nobody; readiness tells what is wrong."""

from __future__ import annotations

import orjson
import pytest
import redis
from django.db import OperationalError, connection
from django.test import Client

from executions.ownership import fence
from executions.ownership.partitions import Partitions
from operations import health
from shared.redis_client import WORKER_INFO_KEY, WORKERS_KEY, client
from wire.heartbeats import beat_script

READY = dict.fromkeys(("database", "migrations", "scheduler", "fence", "redis"), "ok")


def beat(**details: object) -> None:
    description = orjson.dumps({"slots": 1, "hold": 1, **details})
    client().eval(beat_script(), 2, WORKERS_KEY, WORKER_INFO_KEY, "w1", description)


def test_liveness_asks_nobody() -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_it_is_ready_with_a_scheduler_and_a_worker() -> None:
    Partitions().run_once()
    beat()

    answer = Client().get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "checks": READY})


@pytest.mark.django_db
def test_it_names_what_is_missing_and_when_to_ask_again() -> None:
    answer = Client().get("/readyz")

    checks = answer.json()["checks"]
    assert (answer.status_code, answer["Retry-After"]) == (503, "1")
    assert checks["scheduler"] == "0 of 256 partitions have a live scheduler"
    assert checks["redis"] == "no live worker takes work"
    assert (checks["database"], checks["migrations"]) == ("ok", "ok")


@pytest.mark.django_db
def test_a_restored_installation_is_not_ready_until_its_fence_is_lifted() -> None:
    Partitions().run_once()
    beat()
    with connection.cursor() as cursor:
        fence.hold(cursor)

    answer = Client().get("/readyz")

    assert answer.status_code == 503
    wrong = {name: found for name, found in answer.json()["checks"].items() if found != "ok"}
    assert wrong.keys() == {"fence"}
    assert "restore --confirm" in wrong["fence"]
    fence.lift()
    assert health.readiness()["fence"] == "ok"


@pytest.mark.django_db
def test_a_draining_worker_makes_nothing_ready() -> None:
    Partitions().run_once()
    beat(draining=True)

    assert health.readiness()["redis"] == "no live worker takes work"


@pytest.mark.django_db
def test_a_redis_that_is_away_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise redis.ConnectionError("refused at secret-host:6379")

    monkeypatch.setattr(health, "workers", away)

    assert health.readiness()["redis"] == "Redis cannot be reached"


def test_a_database_that_is_away_is_said_and_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, django_db_setup: None
) -> None:
    def away(*_: object) -> None:
        raise OperationalError("refused at secret-host")

    monkeypatch.setattr(health, "rows", away)

    checks = health.readiness()

    assert checks["database"] == "the database cannot be reached"
    assert "scheduler" not in checks
