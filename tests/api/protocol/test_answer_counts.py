"""Answers of the API are counted by tenant and added once a minute, each once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from api.protocol import answer_counts
from executions.ledger import objectives
from executions.models import ObjectiveCount
from shared.tenant_scope import NO_TENANT
from tenants.models import Tenant
from tests.architecture import tree
from tests.factories import make_client

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _counts_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_counts, "_process", answer_counts._Process())
    # The session is that of the test, and goes on.
    monkeypatch.setattr(connection, "close", lambda: None)


def kept() -> dict[Any, tuple[int, int]]:
    return {row.tenant_id: (row.counted, row.bad) for row in ObjectiveCount.objects.all()}


def test_calls_count_for_the_tenant_of_their_key_and_pages_do_not(alpha: Tenant, beta: Tenant):
    for tenant, times in ((alpha, 3), (beta, 1)):
        for _ in range(times):
            make_client(tenant).get("/v1/tasks")
    Client().get("/v1/tasks")
    for path in ("/login", "/healthz", "/v1/no-such-path", "/admin/"):
        Client().get(path)

    answer_counts.flush()
    answer_counts.flush()

    assert kept() == {alpha.id: (3, 0), beta.id: (1, 0), NO_TENANT: (1, 0)}


def test_only_server_errors_are_bad(alpha: Tenant):
    for status in (200, 301, 404, 429, 499, 500, 503, 599):
        answer_counts.count("tasks", alpha.id, status)

    answer_counts.flush()

    assert kept() == {alpha.id: (8, 3)}


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
@pytest.mark.logs("answer_counts.held_back")
def test_while_the_database_is_away_counts_wait(
    alpha: Tenant, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
):
    def refuse(counted: Any) -> None:
        raise error("the server is away")

    answer_counts.count("tasks", alpha.id, 500)
    with monkeypatch.context() as away:
        away.setattr(objectives, "add_answers", refuse)
        answer_counts.flush()
    answer_counts.count("tasks", alpha.id, 200)
    assert kept() == {}

    answer_counts.flush()

    assert kept() == {alpha.id: (2, 1)}


def test_counts_are_due_a_minute_after_the_last_ones(alpha: Tenant, monkeypatch):
    answer_counts.count("tasks", alpha.id, 200)
    assert not answer_counts.is_due()

    answer_counts._process.added_at -= answer_counts.ADDED_EVERY_SECONDS
    assert answer_counts.is_due()

    answer_counts.flush()
    answer_counts._process.added_at -= answer_counts.ADDED_EVERY_SECONDS
    assert not answer_counts.is_due()


def test_the_rules_for_prometheus_leave_out_the_same_operations():
    rules = tree.REPOSITORY / "deploy/prometheus/punctual.rules.yaml"
    found = re.findall(r'operation!~"([^"]*)"', rules.read_text(encoding="utf-8"))

    assert set(found) == {"|".join((f"{answer_counts.CONSOLE}.*", *answer_counts.LEFT_OUT))}
