from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from executions.external.pull_leases import Ask, Load, noticed
from executions.loop.clocks import database_now
from executions.models import WorkerMinute
from tenants.models import Tenant
from tests.executions.leasing import POOL, take, work
from tests.support.beats import beat, silence
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
    assert document["history"] == document["history_by_hour"] == []
    assert call("workers", "show", "w9").code == 3


def test_show_tells_the_last_minutes_of_a_worker():
    beat("w1")
    minute = database_now().replace(second=0, microsecond=0)
    WorkerMinute.objects.create(
        worker="w1", minute=minute, pool="default", slots=4, running=3, ended=170,
        ended_in_minute=17,
        cpu_percent=41.7, memory_bytes=64 * 2**20,
    )  # fmt: skip

    document = read_document("workers-show", call("workers", "show", "w1", "--json").out)
    shown = call("workers", "show", "w1").out

    (row,) = document["history"]
    assert (row["in_flight"], row["ended"], row["capacity"]) == (3, 17, 4)
    assert f"{minute:%H:%M}" in shown
    assert "42 %" in shown
    assert "64 MiB" in shown


def test_workers_that_lease_over_the_api_are_told_apart_and_found_by_what_is_shown(
    alpha: Tenant,
):
    work(alpha)
    for name in ("etl/1", "etl/2"):
        noticed(alpha.id, Ask(pool=POOL, worker=name, load=Load("2.1", 8)), "192.0.2.1")
    take(alpha, worker="etl/1")

    first, second = sorted(_list("--pool", POOL), key=lambda one: str(one["name"]))
    said = call("workers", "list")

    assert (first["pool"], first["kind"], first["state"]) == (POOL, "pull_worker", "live")
    assert (first["in_flight"], second["in_flight"]) == (1, 0)
    assert (first["version"], first["capacity"], first["tenant_id"]) == ("2.1", 8, str(alpha.id))
    # They send no webhooks.
    assert said.code == 1
    shown = [line.split()[0] for line in said.out.splitlines()[1:]]
    assert len(set(shown)) == 2
    for id_shown in shown:
        assert call("workers", "show", id_shown.rpartition("…")[2]).code == 0


def test_ids_that_begin_alike_are_told_apart():
    for end in ("1-aaaaaa", "2-bbbbbb"):
        beat(f"worker@{'h' * 60}:{end}")

    lines = call("workers", "list").out.splitlines()[1:]

    assert len({line.split()[0] for line in lines}) == 2
    assert "h" * 60 in call("workers", "list", "--wide").out
    assert call("workers", "show", "bbbbbb").code == 0
    assert call("workers", "show", "b").code == 0
