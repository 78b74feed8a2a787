from __future__ import annotations

import pytest

from executions.models import Pool
from insight.filter_language import suggestions
from insight.filter_language.fields import DEAD_LETTERS, EXECUTIONS, TASKS
from insight.filter_language.suggestions import MOST, suggest
from insight.list_budget import OutOfTime
from tenants.models import Tenant
from tests.factories import make_execution, make_task, once

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(alpha: Tenant, beta: Tenant) -> Tenant:
    """Return a tenant with rows to suggest values from, beside another one with its own."""
    make_task(alpha, once(name="Night report", labels={"team": "billing"}, owner="a@example.com"))
    make_task(beta, once(name="Night of beta", labels={"team": "beta"}))
    make_execution(alpha, "FAILED", once(name="Down"))
    Pool.objects.create(tenant=alpha, name="batch")
    return alpha


@pytest.mark.parametrize(
    ("text", "vocabulary", "found"),
    [
        ("d", EXECUTIONS, ["delay:", "duration:"]),
        ("http:5xx -Sta", EXECUTIONS, ["http:5xx -status:"]),
        ("status:fa", EXECUTIONS, ["status:failed"]),
        ("a status:failed,RE", EXECUTIONS, ["a status:failed,retrying"]),
        ("task:night", EXECUTIONS, ['task:"Night report"']),
        ('task:"night r', TASKS, ['task:"Night report"']),
        ("label:team", TASKS, ["label:team:billing"]),
        ("owner:", TASKS, ["owner:a@example.com"]),
        ("pool:b", EXECUTIONS, ["pool:batch"]),
        ("duration:>3", EXECUTIONS, ["duration:>30s"]),
        ("cause:", DEAD_LETTERS, ["cause:http_status:500"]),
        ("nothing:x", EXECUTIONS, []),
        ("\0", EXECUTIONS, []),
        ("x" * 3000, EXECUTIONS, []),
    ],
)
def test_a_text_is_completed_from_the_tenants_own_rows(
    filled: Tenant, text: str, vocabulary, found: list[str]
):
    assert suggest(text, vocabulary, filled.id) == found


def test_an_empty_text_gets_the_fields():
    found = suggest("", EXECUTIONS, make_id())

    assert found[:2] == ["status:", "task:"]
    assert len(found) == MOST


def test_where_reading_values_takes_too_long_none_is_suggested(monkeypatch):
    def too_long(milliseconds, read):
        raise OutOfTime

    monkeypatch.setattr(suggestions, "within", too_long)

    assert suggest("task:x", EXECUTIONS, make_id()) == []
    assert suggest("duration:>3", EXECUTIONS, make_id()) == ["duration:>30s"]


def make_id():
    """Return the id of no tenant."""
    from uuid import UUID

    return UUID(int=0)
