from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from executions.loop.clocks import database_now
from executions.models import DeadLetter, Execution, WorkerMinute
from insight.filter_language.conditions import (
    Scope,
    begins,
    executions_matching,
    letters_matching,
    tasks_matching,
)
from insight.filter_language.fields import DEAD_LETTERS, EXECUTIONS, TASKS
from insight.filter_language.terms import parse
from shared import process_sight
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_execution, once

pytestmark = pytest.mark.django_db

OURS = "worker@host-1:42"


def make(tenant: Tenant, status: str, name: str, labels: dict[str, str], **columns: Any) -> None:
    execution = make_execution(tenant, status, once(name=name, labels=labels))
    Execution.objects.filter(pk=execution.pk).update(**columns)


def fill(alpha: Tenant, beta: Tenant) -> None:
    now = database_now()
    began, ended = now - timedelta(seconds=40), now
    billing = {"team": "billing", "test": "1"}
    ran = {"started_at": began, "finished_at": ended, "start_delay_ms": 1500.0}
    slow = {**ran, "response_status": 200, "worker": OURS, "destination": "api.example.com"}
    make(alpha, "SUCCEEDED", "slow", billing, **slow)
    make(
        alpha,
        "FAILED",
        "down",
        {"team": "other"},
        attempt=4,
        response_status=503,
        start_delay_ms=2.0,
        worker="mine",
        trigger="manual",
        destination="api.example.com:8443",
    )
    make(beta, "FAILED", "foreign", billing, response_status=503)
    # Made last: a later release would hand it out.
    make(alpha, "PENDING", "Waits (1)", {}, destination="")


OF_EXECUTIONS = (
    ("", "slow down waits"),
    ("status:failed,pending", "down waits"),
    ("-status:failed", "slow waits"),
    ('task:"WAITS (1)"', "waits"),
    ("task:s*,d?wn", "slow"),
    ("task:*n*", "down"),
    ("label:team", "slow down"),
    ("label:team:billing", "slow"),
    ("label:team -label:test", "down"),
    ("-label:test,team:other", "waits"),
    ("-task:slow -label:team:other", "waits"),
    ("task:s*,d* -task:down", "slow"),
    ("host:API.example.com", "slow"),
    ("host:*.example.com*", "slow down"),
    ("-host:api.example.com", "down waits"),
    ("pool:default", "slow down waits"),
    ("worker:mine", "down"),
    ("worker:worker@*", "slow"),
    ("trigger:manual", "down"),
    ("http:5xx", "down"),
    ("-http:503", "slow waits"),
    ("http:>=200", "slow down"),
    ("error:http_*", "down"),
    ("attempt:>3", "down"),
    ("attempt:0", "waits"),
    ("delay:>1s", "slow"),
    ("delay:2ms..1s", "down"),
    ("duration:>30s", "slow"),
    ("duration:1m..", ""),
    ("-duration:>30s", "down waits"),
    ("scheduled:-24h", "slow down waits"),
    ("scheduled:..-24h", ""),
    ("scheduled:2020-01-01..2020-01-03", ""),
    ("answer", "down"),
    ("-billing", "down waits"),
    ("-answer waits", "waits"),
    ("attempt:999999999", ""),
    ("http:5xx status:succeeded", ""),
)


def test_terms_of_executions_match(alpha: Tenant, beta: Tenant):
    fill(alpha, beta)
    scope = Scope(alpha.id, database_now())
    names = {task.pk: task.name.lower().split()[0] for task in Task.objects.all()}

    def found(text: str) -> set[str]:
        rows = Execution.objects.for_tenant(alpha.id)
        matching = executions_matching(rows, parse(text, EXECUTIONS), scope)
        return {names[row.task_id] for row in matching}

    wrong = {
        text: found(text) for text, expected in OF_EXECUTIONS if found(text) != {*expected.split()}
    }
    assert wrong == {}


OF_TASKS = (
    ("status:scheduled label:team", "slow"),
    ("type:one_time -label:test", "plain"),
    ("owner:ann@example.com", "slow"),
    ("host:api.example.com", "plain slow"),
    ("pool:nowhere", ""),
    ("priority:<=2", "slow"),
    ("created:-1h", "plain slow"),
    ("created:..-1h", ""),
    ("task:pl*", "plain"),
    ("bill -plain", "slow"),
)


def test_terms_of_tasks_match(alpha: Tenant):
    labels = {"team": "billing", "test": "1"}
    make_execution(alpha, "PENDING", once(name="slow", labels=labels, owner="ann@example.com"))
    make_execution(alpha, "PENDING", once(name="plain"))
    Task.objects.filter(name="slow").update(priority=1)
    Task.objects.update(destination="api.example.com", status="SCHEDULED")
    scope = Scope(alpha.id, database_now())

    def found(text: str) -> list[str]:
        rows = tasks_matching(Task.objects.for_tenant(alpha.id), parse(text, TASKS), scope)
        return sorted(rows.values_list("name", flat=True))

    wrong = {text: found(text) for text, names in OF_TASKS if found(text) != names.split()}
    assert wrong == {}


OF_LETTERS = (
    ("task:down", True),
    ("label:team:other", True),
    ("host:api.example.com", True),
    ("host:other.example.com", False),
    ("cause:http_status:*", True),
    ("http:500", True),
    ("http:>500", False),
    ("http:4xx", False),
    ("error:http_status", True),
    ("attempt:1..9", True),
    ("-resolution:fixed", True),
    ("created:-1h answer", True),
    ("-answer", False),
)


def test_terms_of_dead_letters_match(alpha: Tenant):
    make_execution(alpha, "FAILED", once(name="down", labels={"team": "other"}))
    Task.objects.update(destination="api.example.com")
    scope = Scope(alpha.id, database_now())

    def found(text: str) -> bool:
        rows = DeadLetter.objects.for_tenant(alpha.id)
        return letters_matching(rows, parse(text, DEAD_LETTERS), scope).exists()

    assert {text: found(text) for text, _ in OF_LETTERS} == dict(OF_LETTERS)


def test_where_hosts_may_not_be_seen_a_worker_is_found_by_its_substitute_alone(
    alpha: Tenant, beta: Tenant
):
    fill(alpha, beta)
    now = database_now()
    WorkerMinute.objects.create(worker=OURS, minute=now, pool="default")

    def count(text: str) -> int:
        rows = Execution.objects.for_tenant(alpha.id)
        return executions_matching(rows, parse(text, EXECUTIONS), Scope(alpha.id, now)).count()

    with process_sight.sight(allowed=False):
        substitute = process_sight.shown_worker(OURS)
        found = [count(f"worker:{text}") for text in (substitute, OURS, "worker@*", "mine", "m*")]

    assert found == [1, 0, 0, 1, 1]


def test_tasks_are_looked_up_in_one_statement(alpha: Tenant, django_assert_num_queries: Any):
    fill(alpha, alpha)
    text = "task:s*,d?wn,a*b label:team,test -label:x,y -task:z*z"
    scope = Scope(alpha.id, database_now())

    for wanted, statements in ((text, 2), ("-label:x,y -task:z*z", 2), ("status:failed", 1)):
        with django_assert_num_queries(statements):
            list(executions_matching(Execution.objects.all(), parse(wanted, EXECUTIONS), scope))


def test_a_command_without_a_tenant_finds_the_tasks_of_all(alpha: Tenant, beta: Tenant):
    fill(alpha, beta)

    rows = executions_matching(
        Execution.objects.all(), parse("label:test", EXECUTIONS), Scope(None, database_now())
    )

    assert rows.count() == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("scheduled:-2h", True),
        ("scheduled:-2h..-1h,-5h..-4h", True),
        ("scheduled:..-1h", False),
        ("-scheduled:-2h", False),
        ("status:failed", False),
    ],
)
def test_a_filter_begins_where_every_row_has_a_time_from_below(text: str, expected: bool):
    assert begins(parse(text, EXECUTIONS)) is expected
