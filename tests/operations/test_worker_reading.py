from __future__ import annotations

from datetime import timedelta

import pytest

from executions.loop.clocks import database_now
from executions.models import WorkerMinute
from shared.sql import run
from tests.support.beats import beat
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_an_end_of_several_ids_is_refused_with_them():
    beat("w@a:1-cc")
    beat("w@b:1-cc")

    said = call("workers", "show", "cc")

    assert said.code == 2
    assert "w@a:1-cc, w@b:1-cc" in said.err


def test_show_tells_the_hours_of_a_worker_that_is_gone():
    minute = database_now() - timedelta(days=30)
    WorkerMinute.objects.create(
        worker="old@h:1", minute=minute, pool="pull.etl", slots=4, running=3, version="1.0",
        host="h", ended_in_minute=17, cpu_percent=41.7, memory_bytes=64 * 2**20,
    )  # fmt: skip
    run("workers/roll_up", {"now": database_now()})

    said = call("workers", "show", "old@h:1", "--by", "hour", "--days", "90", "--json")
    document = read_document("workers-show", said.out)
    shown = call("workers", "show", "old@h:1", "--by", "hour", "--days", "90").out

    assert (document["state"], document["pool"], document["version"]) == ("gone", "etl", "1.0")
    assert (document["history"], document["history_by_hour"][0]["ended"]) == ([], 17)
    assert f"{minute:%m-%d %H}" in shown
    assert "3 (max 3)/4" in shown


def test_earlier_workers_are_listed():
    WorkerMinute.objects.create(
        worker="old@h:1", minute=database_now() - timedelta(days=30), pool="p", ended_in_minute=17
    )
    run("workers/roll_up", {"now": database_now()})

    said = call("workers", "earlier", "--days", "90", "--json")
    [found] = read_document("workers-earlier", said.out)["workers"]

    assert (found["id"], found["ended"]) == ("old@h:1", 17)
    assert "old@h:1" in call("workers", "earlier", "--days", "90", "--q", "OLD").out
    assert "old@h:1" not in call("workers", "earlier").out


@pytest.mark.parametrize(
    "words",
    [
        ("show", "w1", "--days", "0"),
        ("show", "w1", "--days", "91"),
        ("earlier", "--days", "91"),
        ("earlier", "--limit", "0"),
    ],
)
def test_days_and_limits_out_of_range_are_refused(words: tuple[str, ...]):
    beat("w1")

    assert call("workers", *words).code == 2
