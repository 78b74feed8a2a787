"""From events to failures with their causes."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import Event
from events.outbox import Recorded
from notifications.failures import failures_of, spoken_cause
from shared.ids import new_id
from tests.factories import make_tenant
from tests.notifications.cast import fail, retry

pytestmark = pytest.mark.django_db


def recorded(*names: str) -> list[Recorded]:
    return [
        Recorded(row.id, row.tenant_id, row.name, row.subject_id, row.task_id, row.data, row.at)
        for row in Event.objects.filter(name__in=names).order_by("id")
        if row.subject_id is not None
    ]


@pytest.mark.parametrize(
    ("signature", "host", "words"),
    [
        ("http_status:503", "api.example.com", "HTTP 503 from api.example.com"),
        ("http_status", "", "an HTTP status that is no success from the receiver"),
        ("timeout_total", "api.example.com", "no answer in time from api.example.com"),
        ("worker_lost", "", "the worker died while calling the receiver"),
        ("new_reason", "a.example", "new reason (a.example)"),
    ],
)
def test_a_cause_is_said_in_words(signature: str, host: str, words: str) -> None:
    assert spoken_cause(signature, host) == words


def test_a_batch_takes_the_same_number_of_queries_whatever_its_size() -> None:
    tenant = make_tenant()
    fail(tenant)
    one = recorded("execution.failed")
    with CaptureQueriesContext(
        connection,
    ) as few:
        failures_of(one)
    fail(tenant, 8)
    many = recorded("execution.failed")
    with CaptureQueriesContext(connection) as more:
        found = failures_of(many)

    assert len(found) == 9
    assert len(more) == len(few)


def test_only_the_first_retry_of_an_execution_counts() -> None:
    retry(make_tenant())
    [event] = recorded("execution.retrying")
    later = Event.objects.create(
        id=new_id(), tenant_id=event.tenant_id, name=event.name, subject_id=event.subject_id
    )
    again = Recorded(later.id, event.tenant_id, event.name, event.subject_id, None, None, event.at)

    found = failures_of([again, event])

    assert [one.kind for one in found] == ["first_failure"]
    assert found[0].signature == "http_status:503"
    assert found[0].destination == "api.example.com"


def test_an_execution_past_its_retention_is_no_failure() -> None:
    tenant = make_tenant()
    fail(tenant)
    [event] = recorded("execution.failed")
    gone = Recorded(new_id(), tenant.id, event.name, new_id(), None, None, event.at)

    assert failures_of([gone]) == []
