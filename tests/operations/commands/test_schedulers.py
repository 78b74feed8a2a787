from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from executions.loop.clocks import database_now
from executions.models import PartitionLease, SchedulerNode
from executions.ownership import fence
from executions.ownership.partitions import Partitions
from operations.management.commands.schedulers import map_lines
from tests.support.command_calls import call
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


@pytest.fixture
def two() -> tuple[Partitions, Partitions]:
    """Return two schedulers that share the partitions."""
    first, second = Partitions(), Partitions()
    first.run_once()
    second.run_once()
    first.run_once()
    second.run_once()
    return first, second


def test_list_shows_each_scheduler_with_its_share(two: tuple[Partitions, Partitions]):
    said = call("schedulers", "list", "--json")
    document = read_document("schedulers-list", said.out)

    assert said.code == 0
    assert document["partitions_owned"] == document["partitions_total"] == 256
    shares = {item["id"]: item["partitions"] for item in document["schedulers"]}
    assert shares == {str(one.node): len(one.held) for one in two}
    assert all(item["live"] for item in document["schedulers"])
    assert call("schedulers", "list").out.count("live") == 2


def test_a_scheduler_that_fell_silent_is_told(two: tuple[Partitions, Partitions]):
    long_ago = database_now() - timedelta(minutes=1)
    SchedulerNode.objects.filter(pk=two[0].node).update(heartbeat_at=long_ago)

    assert "silent" in call("schedulers", "list").out


def test_the_map_has_a_letter_for_each_owner(two: tuple[Partitions, Partitions]):
    said = call("schedulers", "map")
    lines = said.out.splitlines()

    assert all(len(line.split()) == 17 for line in lines[:16])
    marks = [mark for line in lines[:16] for mark in line.split()[1:]]
    assert sorted(marks.count(letter) for letter in "AB") == sorted(len(one.held) for one in two)
    assert [line[:4] for line in lines[16:]] == ["A = ", "B = "]
    document = read_document("schedulers-map", call("schedulers", "map", "--json").out)
    assert len(document["partitions"]) == 256
    assert document["partitions"][0]["owner"] in {str(one.node) for one in two}


def test_partitions_without_an_owner_exit_with_1():
    for verb in ("list", "map"):
        said = call("schedulers", verb, "--json")
        read_document(f"schedulers-{verb}", said.out)
        assert said.code == 1
    assert ". = no owner: 256 partitions" in call("schedulers", "map").out


def test_a_lease_that_has_run_out_is_nobodys(two: tuple[Partitions, Partitions]):
    PartitionLease.objects.filter(partition=0).update(expires_at=database_now())
    leases = list(PartitionLease.objects.with_ends().order_by("partition"))

    lines = map_lines(leases, [], database_now())

    assert lines[0].split()[1] == "."
    assert lines[-1] == ". = no owner: 1 partitions"


def test_the_fence_is_shown_as_the_owner_by_its_name(two: tuple[Partitions, Partitions]):
    with connection.cursor() as cursor:
        fence.hold(cursor)

    said = call("schedulers", "map")

    assert said.out.splitlines()[-1] == f"A = {fence.NAME}: 256 partitions"
    document = read_document("schedulers-map", call("schedulers", "map", "--json").out)
    assert {item["owner_name"] for item in document["partitions"]} == {fence.NAME}
