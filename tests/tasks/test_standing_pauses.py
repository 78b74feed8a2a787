"""What a standing pause covers, and which open one holds a task."""

from __future__ import annotations

import pytest
from django.db import connection

from executions.changes.pauses import Wanted, create_pause
from shared.exceptions import InvalidInput
from shared.sql import rows, statement
from tasks import standing_pauses
from tasks.models import Task
from tests.factories import ACTOR, TARGET, daily, make_task, make_tenant, once, reload

pytestmark = pytest.mark.django_db


def test_the_time_is_read_once_the_pauses_are_shared(alpha):
    path, parameters = standing_pauses.sharing_from_now(alpha.id)
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (VERBOSE, FORMAT JSON) {statement(path)}", parameters)
        [[[found]]] = cursor.fetchall()
    outer = found["Plan"]
    [inner] = outer["Plans"]

    assert outer["Output"] == ["clock_timestamp()"]
    assert "pg_advisory_xact_lock_shared" in inner["Output"][0]
    assert rows(path, parameters)[0][0].tzinfo is not None


@pytest.mark.parametrize(
    ("scope", "value", "is_covered"),
    [
        ("label", "team:billing", True),
        ("label", "team", True),
        ("label", "team:bill", False),
        ("label", "a:b:c", True),
        ("label", "billing", False),
        ("pool", "default", True),
        ("pool", "batch", False),
        ("destination", "api.example.com", True),
        ("destination", "api.example.com:8443", True),
        ("destination", "api.example.com:844", False),
        ("destination", "example.com", False),
        ("destination", "api_example.com", False),
        ("destination", "api%", False),
        ("tenant", "", True),
    ],
)
def test_a_task_is_covered_by_label_pool_destination_or_tenant(alpha, scope, value, is_covered):
    body = daily(
        labels={"team": "billing", "a:b": "c"},
        target={**TARGET, "url": "https://API.example.com:8443/x"},
    )
    task = make_task(alpha, body)

    found = standing_pauses.covered(Task.objects.for_tenant(alpha.id), scope, value)

    assert list(found) == ([task] if is_covered else [])


def test_a_destination_without_a_port_in_the_url_is_the_host(alpha):
    task = make_task(alpha)
    tasks = Task.objects.for_tenant(alpha.id)

    assert list(standing_pauses.covered(tasks, "destination", "api.example.com")) == [task]
    assert list(standing_pauses.covered(tasks, "destination", "api.example.com:443")) == [task]
    assert not standing_pauses.covered(tasks, "destination", "api.example.com:8443")


@pytest.mark.parametrize(
    "value", ["API.example.com.", "api.example.com:0443", "api.example.com:80", "api.example.com:"]
)
def test_a_pause_that_an_older_version_took_covers_the_same_host(alpha, value):
    task = make_task(alpha, once(target={"url": "https://api.example.com./x"}))
    make_task(alpha, once(target={"url": "https://api.example.com:8443/x"}))
    covered = standing_pauses.covered(Task.objects.all(), "destination", value)

    # Without a port it is the host on every port.
    assert (task in covered, covered.count()) == (True, 1 if value[-1] in "30" else 2)


@pytest.mark.parametrize(
    ("scope", "given", "read"),
    [
        ("destination", "API.Example.com", "api.example.com"),
        ("destination", "[::1]:8080", "[::1]:8080"),
        ("destination", "Faß.de.:0443", "xn--fa-hia.de:443"),
        ("destination", "0x7f.1:9000", "127.0.0.1:9000"),
        ("destination", "api.example.com:", "api.example.com"),
        ("label", "Team:Billing", "Team:Billing"),
        ("pool", "default", "default"),
        ("tenant", "", ""),
    ],
)
def test_values_are_read_as_they_are_compared(scope, given, read):
    assert standing_pauses.read_value(scope, given) == read


@pytest.mark.parametrize(
    ("scope", "value", "code"),
    [
        ("tenant", "alpha", "not_used"),
        ("label", "", "required"),
        ("label", " ", "blank"),
        ("label", "x" * 265, "too_long"),
        ("pool", "x" * 64, "too_long"),
        ("pool", "a\0b", "invalid_characters"),
        ("destination", "https://api.example.com", "invalid"),
        ("destination", "api.example.com/x", "invalid"),
        ("destination", "api.example.com:0", "invalid"),
        ("destination", "api.example.com:99999", "invalid"),
        ("destination", "api.example.com:http", "invalid"),
        ("destination", "user@api.example.com", "invalid"),
        ("destination", ":80", "invalid"),
        ("destination", "[::1", "invalid"),
    ],
)
def test_values_that_cover_nothing_are_refused(scope, value, code):
    with pytest.raises(InvalidInput) as refused:
        standing_pauses.read_value(scope, value)

    [error] = refused.value.errors
    assert (error.pointer, error.code) == ("#/value", code)


def test_the_pause_that_a_task_is_under_holds_it_before_older_ones(alpha):
    first, _ = create_pause(alpha.id, Wanted("label", "team"), actor=ACTOR)
    second, _ = create_pause(alpha.id, Wanted("pool", "default"), actor=ACTOR)
    task = make_task(alpha)
    assert task.pause_id == first.id

    task.pause_id = second.id

    assert standing_pauses.current_holder(task) == second
    assert standing_pauses.holder_of(task) == second
    assert standing_pauses.holders(alpha.id, [task.id]) == {task.id: first}


def test_pauses_of_another_tenant_hold_nothing(alpha):
    create_pause(make_tenant("Other").id, Wanted("tenant"), actor=ACTOR)
    task = make_task(alpha)

    assert standing_pauses.holder_of(task) is None
    assert standing_pauses.holders(alpha.id, []) == {}


@pytest.mark.parametrize(
    ("scope", "value", "words"),
    [
        ("label", "team:billing", "the label team:billing"),
        ("pool", "default", "the pool default"),
        ("destination", "api.example.com", "the destination api.example.com"),
        ("tenant", "", "the whole tenant"),
    ],
)
def test_what_a_pause_covers_is_said_in_words(scope, value, words):
    assert standing_pauses.describe(scope, value) == words


def test_many_tasks_are_held_by_what_each_is_held_by(alpha):
    tasks = [make_task(alpha, daily(labels={"n": str(number)})) for number in range(3)]
    for number in range(2):
        create_pause(alpha.id, Wanted("label", f"n:{number}"), actor=ACTOR)
    Task.objects.filter(pk=tasks[1].id).update(labels={"n": "other"})
    found = list(Task.objects.filter(pk__in=[task.id for task in tasks]))

    holders = standing_pauses.current_holders(found)

    assert holders == {tasks[0].id: standing_pauses.current_holder(reload(tasks[0]))}
    assert standing_pauses.current_holders([reload(tasks[2])]) == {}
