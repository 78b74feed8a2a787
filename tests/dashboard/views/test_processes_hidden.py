"""Processes of the installation on the pages of a member, and of an operator."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission, User

from executions.loop.clocks import database_now
from executions.models import SchedulerNode, WorkerMinute
from executions.ownership.partitions import Partitions
from tests.support.beats import beat

HOST = "node-7.internal"
WORKER = f"worker-1@{HOST}:4242-a1b2c3"


@pytest.fixture
def fleet(alpha) -> None:
    Partitions().run_once()
    SchedulerNode.objects.update(name=f"scheduler-1@{HOST}")
    beat(WORKER, host=HOST, pid=4242, version="9.9.9", running=3, cpu_percent=77.5)
    minute = database_now().replace(second=0, microsecond=0)
    WorkerMinute.objects.create(worker=WORKER, minute=minute, pool="default", host=HOST)


@pytest.mark.parametrize("role", ["viewer", "owner"])
def test_no_page_names_a_host_a_version_or_a_load_to_a_member(browser, alpha, fleet, role):
    client = browser(alpha, role=role)

    for path in ("/workers", "/workers/earlier", "/"):
        text = client.get(path).text
        for secret in (HOST, "pid 4242", "9.9.9", "78 %"):
            assert secret not in text, (path, secret)
    page = client.get("/workers")
    assert "4 slots, shared by all tenants" in page.text
    assert page.context["unowned"] == 0
    assert "each with an owner" in page.text
    assert client.get(f"/workers/{WORKER}").status_code == 404


@pytest.mark.parametrize("names", [(), ("view_schedulernode",), ("view_workerminute",)])
def test_staff_see_no_more_of_processes_than_in_the_admin(browser, alpha, fleet, names):
    client = browser(alpha, role="viewer")
    User.objects.update(is_staff=True)
    User.objects.get().user_permissions.set(Permission.objects.filter(codename__in=names))

    assert HOST not in client.get("/workers").text


@pytest.mark.parametrize("right", ["is_staff", "is_superuser"])
def test_an_operator_sees_all(browser, alpha, fleet, right):
    client = browser(alpha, role="viewer")
    User.objects.update(**{right: True})
    if right == "is_staff":
        names = ("view_schedulernode", "view_workerminute")
        User.objects.get().user_permissions.set(Permission.objects.filter(codename__in=names))

    page = client.get("/workers").text

    assert HOST in page
    assert "9.9.9" in page
    assert "78 %" in page
    assert client.get(f"/workers/{WORKER}").status_code == 200
