from __future__ import annotations

from typing import Any

import pytest

from executions.models import Pool
from shared.actor import COMMAND
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.executions.leasing import take, work
from tests.support.command_calls import call, type_in
from tests.support.command_documents import read_document

pytestmark = pytest.mark.django_db


def test_pools_are_listed_with_how_they_stand(alpha: Tenant):
    work(alpha, 3)
    take(alpha, 1)

    [found] = read_document("pools-list", call("pools", "list", "--json").out)["pools"]

    assert (found["name"], found["depth"], found["in_flight"]) == ("batch", 2, 1)
    assert "batch" in call("pools", "list").out
    assert "1/-" in call("pools", "list").out


def test_one_is_shown(alpha: Tenant):
    work(alpha, 2)

    shown = read_document("pools-show", call("pools", "show", "batch", "--json").out)

    assert (shown["depth"], shown["live_workers"]) == (2, 0)
    assert "depth            2" in call("pools", "show", "batch").out
    assert call("pools", "show", "other").code == 3


def test_set_makes_pauses_and_limits(alpha: Tenant):
    words = "pools set batch --paused yes --max-in-flight 5 --json".split()

    made = read_document("pools-set", call(*words).out)
    call("pools", "set", "batch", "--max-in-flight", "none")

    assert (made["paused"], made["max_in_flight"]) == (True, 5)
    pool = Pool.objects.get(tenant=alpha)
    assert (pool.paused, pool.max_in_flight) == (True, None)


@pytest.mark.parametrize("option", ["0", "many", "1.5", "-1", "1000001"])
def test_a_limit_that_is_none_is_refused(alpha: Tenant, option: str):
    assert call("pools", "set", "batch", f"--max-in-flight={option}").code == 2
    assert not Pool.objects.exists()


def test_delete_asks_first_and_refuses_what_is_in_use(alpha: Tenant, monkeypatch: Any):
    call("pools", "set", "batch")
    type_in(monkeypatch, "n\n")
    assert call("pools", "delete", "batch").code == 1
    assert Pool.objects.exists()

    said = call("pools", "delete", "batch", "--yes", "--json")

    assert read_document("pools-delete", said.out)["deleted"] == "batch"
    assert audited("batch", "pool.deleted")["actor"] == COMMAND.name
    work(alpha)
    assert call("pools", "delete", "batch", "--yes").code == 4


def test_several_tenants_have_to_be_told_apart(alpha: Tenant, beta: Tenant):
    assert call("pools", "list").code == 2
    assert call("pools", "list", "--tenant", "Beta").code == 0
