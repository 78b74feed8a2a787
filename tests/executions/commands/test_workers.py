from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from executions.engine.clocks import database_now
from executions.models import WorkerMinute
from tests.executions.workers.test_registry import beat, silence
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def _list(*words: str) -> list[dict[str, object]]:
    found = read_document("workers-list", call("workers", "list", *words, "--json").out)
    workers: list[dict[str, object]] = found["workers"]
    return workers


def test_list_shows_pool_capacity_and_what_is_in_hand():
    beat("w1", host="alpha", pid=7, running=3, held=2)
    beat("w2", pool="slow", draining=True)

    first, second = _list()

    assert (first["id"], first["state"], first["capacity"], first["in_flight"]) == (
        *("w1", "live", 4, 3),
    )
    assert (second["pool"], second["state"], second["version"]) == ("slow", "draining", None)
    assert "3/4" in call("workers", "list").out
    assert [worker["id"] for worker in _list("--pool", "slow")] == ["w2"]


def test_without_a_worker_that_takes_work_it_exits_with_1():
    assert call("workers", "list").code == 1
    beat("w1")
    assert call("workers", "list").code == 0
    silence("w1", 60)
    said = call("workers", "list", "--json")
    assert said.code == 1
    assert read_document("workers-list", said.out)["workers"][0]["state"] == "lost"


def test_lost_workers_are_grey_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    beat("live-one")
    beat("lost-one")
    silence("lost-one", 60)
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)

    call_command("workers", "list", stdout=screen, stderr=io.StringIO())

    grey = [line for line in screen.getvalue().splitlines() if line.startswith("\x1b[2m")]
    assert len(grey) == 1
    assert "lost-one" in grey[0]
    assert "\x1b" not in call("workers", "list").out


def test_show_tells_all_of_one_worker():
    beat("w1", host="alpha")

    document = read_document("workers-show", call("workers", "show", "w1", "--json").out)

    assert (document["host"], document["state"]) == ("alpha", "live")
    assert "heartbeat age seconds" in call("workers", "show", "w1").out
    assert document["history"] == []
    assert call("workers", "show", "w9").code == 3


def test_show_tells_the_last_minutes_of_a_worker():
    beat("w1")
    minute = database_now().replace(second=0, microsecond=0)
    WorkerMinute.objects.create(
        worker="w1", minute=minute, pool="default", slots=4, running=3, ended=17,
        cpu_percent=41.7, memory_bytes=64 * 2**20,
    )  # fmt: skip

    document = read_document("workers-show", call("workers", "show", "w1", "--json").out)
    shown = call("workers", "show", "w1").out

    (row,) = document["history"]
    assert (row["in_flight"], row["ended"], row["capacity"]) == (3, 17, 4)
    assert f"{minute:%H:%M}" in shown
    assert "42 %" in shown
    assert "64 MiB" in shown


def test_workers_that_lease_over_the_api_are_listed_by_the_name_of_their_pool():
    tenant = "0193b1a2-7c3d-7e4f-8a5b-6c7d8e9fa0b1"
    beat("tenant/pull.etl/w-1", pool="pull.etl", tenant=tenant)

    [found] = _list("--pool", "etl")

    assert (found["pool"], found["state"]) == ("etl", "live")
    # They send no webhooks.
    assert call("workers", "list").code == 1
