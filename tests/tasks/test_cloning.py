"""A clone is a task of its own with its source's definition and, where they may go, its secrets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from shared.exceptions import InvalidInput, NotFound
from tasks.cloning import clone_task, copied_name
from tasks.models import Task
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.executions.answers import audited
from tests.factories import ACTOR, daily, make_task, make_tenant, once
from tests.support.certificates import pem_pair

pytestmark = pytest.mark.django_db
URL = "https://api.example.com/reports"
CERTIFICATE, _ = pem_pair()
SECRETS = {"url": URL, "auth": {"type": "bearer", "token": "s3cret"}, "headers": {"X-Key": "k"}}


def clone(task: Task, **overrides: Any) -> Task:
    made, _ = clone_task(task.tenant_id, task.id, overrides, actor=ACTOR, now=database_now())
    return made


def codes(refused: pytest.ExceptionInfo[InvalidInput]) -> dict[str, str]:
    return {error.pointer: error.code for error in refused.value.errors}


def test_a_clone_has_the_definition_of_its_source_and_a_name_and_history_of_its_own(alpha: Tenant):
    source = make_task(alpha, daily(target=SECRETS, priority=2))

    made = clone(source)

    assert made.id != source.id
    assert (made.name, made.version, made.status) == ("Daily report (copy)", 1, "SCHEDULED")
    found, original = read_definition(made), read_definition(source)
    assert (found.target, found.payload, found.priority) == (
        original.target,
        original.payload,
        original.priority,
    )
    assert found.schedule == original.schedule
    assert source.revisions.count() == 1


def test_overrides_are_merged_as_by_an_edit(alpha: Tenant):
    source = make_task(alpha, daily(labels={"team": "billing", "env": "prod"}))

    made = clone(source, name="Staging", labels={"env": None, "a": "b"}, schedule={"every": "PT5M"})

    assert (made.name, made.labels) == ("Staging", {"team": "billing", "a": "b"})
    assert made.schedule["every"] == "PT5M"
    assert made.schedule["cron_expression"] is None


@pytest.mark.parametrize(
    "moved",
    [
        {"url": "https://elsewhere.example.com/reports"},
        {"url": "http://api.example.com/reports"},
        {"url": "https://api.example.com:8443/reports"},
        {"proxy": {"url": "http://proxy.example.com:3128"}},
        {"tls": {"ca_certificates": CERTIFICATE}},
    ],
)
def test_no_kept_secret_follows_a_clone_whose_target_moves(alpha: Tenant, moved: dict[str, Any]):
    source = make_task(alpha, daily(target=SECRETS))

    with pytest.raises(InvalidInput) as refused:
        clone(source, target=moved)

    assert codes(refused) == {
        "#/target/auth/token": "secret_required",
        "#/target/headers/X-Key": "secret_required",
    }
    assert Task.objects.count() == 1


def test_a_clone_that_moves_takes_secrets_that_are_written_anew(alpha: Tenant):
    source = make_task(alpha, daily(target=SECRETS))
    target = {
        "url": "https://elsewhere.example.com/",
        "auth": {"token": "other"},
        "headers": {"X-Key": None},
    }

    found = read_definition(clone(source, target=target)).target

    assert (found["auth"]["token"], found["headers"]) == ("other", {})


def test_a_clone_of_a_time_that_has_passed_does_not_run_at_once(alpha: Tenant):
    source = make_task(alpha, once())

    with pytest.raises(InvalidInput) as refused:
        clone(source)

    assert codes(refused) == {"#/schedule/run_at": "in_the_past"}
    later = clone(source, schedule={"delay_seconds": 60}).next_run_at
    assert later is not None
    assert later > database_now()
    ahead = make_task(alpha, once(database_now() + timedelta(hours=1)))
    assert clone(ahead).next_run_at == ahead.next_run_at


def test_the_longest_name_can_be_copied(alpha: Tenant):
    source = make_task(alpha, daily(name="n" * 200))

    assert clone(source).name == copied_name("n" * 200)
    assert len(copied_name("n" * 200)) == 200


@pytest.mark.parametrize("body", [[], "x", None, 1])
def test_overrides_are_an_object(alpha: Tenant, body: Any):
    source = make_task(alpha)

    with pytest.raises(InvalidInput):
        clone_task(alpha.id, source.id, body, actor=ACTOR, now=database_now())


def test_only_a_task_of_the_tenant_is_cloned_and_the_audit_log_names_both(alpha: Tenant):
    source = make_task(alpha)

    with pytest.raises(NotFound):
        clone_task(make_tenant("Beta").id, source.id, {}, actor=ACTOR, now=database_now())
    made = clone(source)

    assert audited(source.id, "task.cloned")["after"] == {"id": str(made.id)}
