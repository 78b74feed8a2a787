from __future__ import annotations

import pytest

from shared.encryption import DecryptionFailed
from shared.exceptions import NotFound
from tasks import revisions
from tasks.models import TaskRevision
from tests.factories import daily, make_task, spoil
from tests.tasks.bodies import LONG, MINIMAL, TARGETS, create, with_target

#: Of the URL of ``LONG``.
ORIGIN = "https://api.example.com"


@pytest.fixture
def task(alpha):
    return make_task(alpha, {**LONG, "schedule": {**LONG["schedule"], "end_at": None}})


def test_a_definition_comes_back_as_it_was_stored(task):
    revisions.write_revision(_next(task), create(LONG), "somebody")

    assert revisions.read_definition(task) == create(LONG)
    assert task.revisions.get(version=2).changed_by == "somebody"


def test_payload_and_headers_are_not_readable_at_rest(task):
    stored = TaskRevision.objects.get(task=task)

    assert b"daily" not in bytes(stored.sealed)
    assert "payload" not in stored.definition
    assert not {"headers", "auth", "url"} & stored.definition["target"].keys()
    assert stored.definition["target"]["origin"] == ORIGIN


@pytest.mark.parametrize("kind", TARGETS)
def test_no_secret_of_any_kind_is_readable_at_rest(task, kind):
    definition = create(with_target(TARGETS[kind]))

    stored = revisions.write_revision(_next(task), definition, "somebody")

    assert "s3cret" not in str(stored.definition)
    assert b"s3cret" not in bytes(stored.sealed)
    assert revisions.read_definition(task) == definition


def test_a_reference_is_not_readable_at_rest_and_is_what_is_sent(task):
    definition = create(MINIMAL | {"payload_ref": "s3://bucket/key?signature=s3cret"})

    stored = revisions.write_revision(_next(task), definition, "somebody")

    assert "s3cret" not in str(stored.definition)
    assert "payload_ref" not in stored.definition
    assert revisions.read_definition(task) == definition
    sent = {"payload_ref": "s3://bucket/key?signature=s3cret"}
    assert revisions.open_payload(task.id, 2) == sent


def test_an_owner_is_stored_unsealed_and_none_is_left_out(task):
    owned = create(MINIMAL | {"owner": "ops@example.com"})

    stored = revisions.write_revision(_next(task), owned, "somebody")

    assert stored.definition["owner"] == "ops@example.com"
    assert revisions.read_definition(task) == owned
    assert "owner" not in task.revisions.get(version=1).definition


def test_a_sealed_part_is_bound_to_its_version(task):
    stored = TaskRevision.objects.get(task=task)
    stored.version = 2

    with pytest.raises(DecryptionFailed):
        revisions.definition_of(stored)


def test_of_what_no_key_opens_the_plain_part_can_be_read(task, alpha):
    other = make_task(alpha)
    spoil(task)

    found = revisions.read_readable([task, other])

    assert found[other.id] == (revisions.read_definition(other), True)
    definition, is_whole = found[task.id]
    assert not is_whole
    assert definition.payload is None
    assert definition.target["url"] == ORIGIN
    assert not definition.target["headers"]
    with pytest.raises(DecryptionFailed):
        revisions.read_definitions([task, other])


def test_an_older_version_stays_readable(task):
    revisions.write_revision(_next(task), create(daily()), "somebody")

    assert revisions.read_definition(task, 1).name == "Daily Report"
    assert revisions.read_definition(task).name == "Daily report"


def test_a_version_that_is_not_there_is_not_found(task):
    with pytest.raises(NotFound):
        revisions.read_definition(task, 9)
    with pytest.raises(NotFound):
        revisions.open_payload(task.id, 9)


def test_the_current_definitions_of_many_tasks_come_in_one_query(
    alpha, task, django_assert_num_queries
):
    other = make_task(alpha)
    task.version = 2
    task.save()
    revisions.write_revision(task, create(daily(name="New")), "somebody")

    with django_assert_num_queries(1):
        found = revisions.read_definitions([task, other])

    assert {key: value.name for key, value in found.items()} == {
        task.id: "New",
        other.id: "Daily report",
    }


def test_the_payload_of_a_version_is_opened_alone(task):
    assert revisions.open_payload(task.id, 1) == {"report_type": "daily"}


def _next(task):
    task.version += 1
    return task
