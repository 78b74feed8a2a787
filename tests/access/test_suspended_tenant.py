"""Two tenants of one installation: the suspension of one is out of the other's reach and harm.

Tried by the API, the console and the commands; whoever is suspended is refused by each of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from executions.models import Execution
from tasks.models import Pause, Task
from tasks.scheduling import schedule
from tenants.choices import Role
from tenants.models import Membership, Tenant
from tenants.suspension import TenantSuspended
from tests.factories import (
    ApiClient,
    daily,
    every_second,
    make_client,
    make_task,
    make_tenant,
    prepare,
    release,
    reload,
)
from tests.support.command_calls import call
from tests.support.suspending import resume, suspend

pytestmark = pytest.mark.django_db


@pytest.fixture
def alpha(db: None) -> Tenant:
    return make_tenant("Alpha")


@pytest.fixture
def beta(db: None) -> Tenant:
    return make_tenant("Beta")


@pytest.fixture
def work(alpha: Tenant) -> Task:
    """Return a task of alpha, which is suspended."""
    task = make_task(alpha, every_second())
    prepare()
    suspend(alpha)
    return task


def suspension_of(tenant: Tenant) -> UUID:
    return Pause.objects.get(tenant=tenant, scope="suspension").pk


def member_of(tenant: Tenant) -> Client:
    user = User.objects.create_user(f"member of {tenant.name}", password="a long password")
    Membership.objects.create(user=user, tenant=tenant, role=Role.OWNER)
    client = Client()
    client.force_login(user)
    return client


def is_untouched(task: Task) -> bool:
    """Return whether the task is under the suspension still, and nothing of it can start."""
    tenant = Tenant.objects.get(pk=task.tenant_id)
    free = Execution.objects.filter(task_id=task.pk, finished_at=None, held=False)
    held = (reload(task).status, reload(task).pause_id) == ("PAUSED", suspension_of(tenant))
    return held and tenant.suspended_at is not None and not free.exists()


REACHES: dict[str, Callable[[ApiClient, Task, UUID], int]] = {
    "its pause": lambda key, task, pause: key.get(f"/v1/pauses/{pause}").status_code,
    "the end of its pause": lambda key, task, pause: (
        key.post(f"/v1/pauses/{pause}/end", {}, idempotency_key="end").status_code
    ),
    "its task": lambda key, task, pause: key.get(f"/v1/tasks/{task.pk}").status_code,
    "a resume": lambda key, task, pause: (
        key.post(f"/v1/tasks/{task.pk}/resume", {}, idempotency_key="resume").status_code
    ),
    "a run": lambda key, task, pause: (
        key.post(f"/v1/tasks/{task.pk}/run", {}, idempotency_key="run").status_code
    ),
    "its ledger": lambda key, task, pause: key.get(f"/v1/tasks/{task.pk}/occurrences").status_code,
    "an explanation": lambda key, task, pause: key.get(f"/v1/tasks/{task.pk}/explain").status_code,
}


@pytest.mark.parametrize("reach", REACHES)
def test_no_call_of_another_tenant_reaches_what_a_suspension_holds(
    beta: Tenant, work: Task, reach: str
):
    pause = suspension_of(work.tenant)

    assert REACHES[reach](make_client(beta, owner=True), work, pause) == 404
    assert is_untouched(work)


def test_no_list_of_another_tenant_shows_a_suspension(beta: Tenant, work: Task):
    key = make_client(beta, owner=True)

    for path in ("/v1/pauses", "/v1/tasks", "/v1/executions", "/v1/alerts", "/v1/overview"):
        answer = key.get(path)
        assert answer.status_code == 200, path
        assert str(work.pk) not in answer.text, path
        assert "suspen" not in answer.text, path


def test_no_call_suspends_or_resumes_a_tenant(beta: Tenant):
    document = make_client(beta, owner=True).get("/v1/schema/").text

    assert "/v1/tenant" not in document
    assert "/suspend" not in document


def test_another_tenant_creates_runs_and_pauses_as_before(beta: Tenant, work: Task):
    key = make_client(beta, owner=True)
    made = key.post("/v1/tasks", daily(), idempotency_key="1").json()

    ran = key.post(f"/v1/tasks/{made['id']}/run", {}, idempotency_key="2")
    paused = key.post("/v1/pauses", {"scope": "tenant"}, idempotency_key="3")

    assert (made["status"], ran.status_code, paused.status_code) == ("SCHEDULED", 202, 201)
    assert is_untouched(work)
    ended = key.post(f"/v1/pauses/{paused.json()['id']}/end", {}, idempotency_key="4")
    assert ended.status_code == 200
    assert is_untouched(work)
    assert {row.tenant_id for row in release()} == {beta.id}


def test_neither_the_end_of_a_suspension_nor_another_one_touches_the_other_tenant(
    alpha: Tenant, beta: Tenant, work: Task
):
    theirs = make_task(beta)

    suspend(beta)
    resume(alpha)

    assert (reload(work).status, reload(theirs).status) == ("SCHEDULED", "PAUSED")
    resume(beta)
    assert reload(theirs).status == "SCHEDULED"


def test_a_suspended_tenants_key_is_refused_with_the_reason(alpha: Tenant, work: Task):
    key = make_client(alpha, owner=True)

    for answer in (
        key.get("/v1/tasks"),
        key.post("/v1/tasks", daily(), idempotency_key="1"),
        key.post(f"/v1/tasks/{work.pk}/run", {}, idempotency_key="2"),
        key.post(f"/v1/pauses/{suspension_of(alpha)}/end", {}, idempotency_key="3"),
        key.post("/v1/pools/batch/lease", {"worker": "w-1"}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "tenant_suspended")
    assert is_untouched(work)


def test_the_console_of_another_tenant_neither_shows_nor_ends_a_suspension(
    beta: Tenant, work: Task
):
    browser = member_of(beta)
    pause = suspension_of(work.tenant)

    shown = browser.get(reverse("dashboard:pauses")).content.decode()
    browser.post(reverse("dashboard:pause_end", args=[pause]))
    asked = browser.get(reverse("dashboard:task", args=[work.pk]))

    assert "suspen" not in shown
    assert asked.status_code == 404
    assert is_untouched(work)


def test_the_console_refuses_the_members_of_a_suspended_tenant_by_name(alpha: Tenant, work: Task):
    browser = member_of(alpha)

    for answer in (
        browser.get(reverse("dashboard:overview")),
        browser.get(reverse("dashboard:task", args=[work.pk])),
        browser.post(reverse("dashboard:pause_end", args=[suspension_of(alpha)])),
    ):
        assert answer.status_code == 403
        assert "tenant_suspended" in answer.content.decode()
    assert is_untouched(work)


def test_a_member_of_both_tenants_sees_the_other_one(alpha: Tenant, beta: Tenant, work: Task):
    browser = member_of(alpha)
    user = User.objects.get(username="member of Alpha")
    Membership.objects.create(user=user, tenant=beta, role=Role.OWNER)

    assert browser.get(reverse("dashboard:overview")).status_code == 200
    assert browser.get(reverse("dashboard:task", args=[work.pk])).status_code == 404


COMMANDS: dict[str, Callable[[Task, UUID], tuple[str, ...]]] = {
    "resume a task": lambda task, pause: ("tasks", "resume", str(task.pk)),
    "run a task": lambda task, pause: ("tasks", "run", str(task.pk)),
    "end the pause": lambda task, pause: ("pauses", "end", str(pause), "--yes"),
    "edit a task": lambda task, pause: ("tasks", "edit", str(task.pk), "--priority", "1"),
    "set fields": lambda task, pause: ("tasks", "set", str(task.pk), "--priority", "1", "--yes"),
    "test a task": lambda task, pause: ("tasks", "test", str(task.pk)),
    "create a task": lambda task, pause: (
        *("tasks", "create", "--tenant", str(task.tenant_id)),
        *("--url", "https://example.com/run", "--cron", "0 8 * * *"),
    ),
    "run again": lambda task, pause: ("tasks", "backfill", str(task.pk), "--since", "1m", "--yes"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_but_resuming_the_tenant_lifts_a_suspension(work: Task, name: str):
    before = (Task.objects.count(), Execution.objects.count())

    said = call(*COMMANDS[name](work, suspension_of(work.tenant)))

    assert said.code != 0
    assert "suspended" in said.out + said.err or name == "end the pause"
    assert (Task.objects.count(), Execution.objects.count()) == before
    assert is_untouched(work)


def test_the_lists_of_pauses_leave_a_suspension_out(work: Task):
    said = call("pauses", "list", "--all", "--json")

    assert said.code == 0
    assert json.loads(said.out)["pauses"] == []


def test_the_commands_suspend_and_resume_one_tenant_with_its_work(alpha: Tenant, beta: Tenant):
    mine, theirs = make_task(alpha), make_task(beta)

    assert call("tenant", "suspend", "Alpha", "--yes").code == 0
    assert (reload(mine).status, reload(theirs).status) == ("PAUSED", "SCHEDULED")
    assert call("tenant", "resume", "Alpha").code == 0
    assert (reload(mine).status, reload(theirs).status) == ("SCHEDULED", "SCHEDULED")


def test_a_crontab_makes_no_tasks_of_a_suspended_tenant(alpha: Tenant, work: Task, tmp_path: Path):
    crontab = tmp_path / "jobs"
    crontab.write_text("0 3 * * * /bin/report\n", encoding="utf-8")
    before = Task.objects.count()

    said = call(
        *("tasks", "import", str(crontab), "--format", "crontab", "--tenant", "Alpha"),
        *("--url", "https://example.com/run"),
    )

    assert said.code != 0
    assert "suspended" in said.err
    assert Task.objects.count() == before


def test_the_application_schedules_nothing_of_a_suspended_tenant(alpha: Tenant, work: Task):
    with pytest.raises(TenantSuspended):
        schedule(alpha, url="https://example.com/run", cron="0 8 * * *", key="nightly")

    assert not Task.objects.filter(tenant=alpha).exclude(pk=work.pk).exists()


def test_the_tasks_of_a_suspended_tenant_are_exported_as_they_are(alpha: Tenant, work: Task):
    said = call("tasks", "export", "--tenant", "Alpha")

    assert said.code == 0
    assert [task["name"] for task in json.loads(said.out)["tasks"]] == [work.name]
    assert is_untouched(work)
