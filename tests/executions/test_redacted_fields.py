"""Which fields of an execution are masked, by its own version and the current one."""

from __future__ import annotations

from uuid import uuid4

import pytest

from executions.changes.changing import edit_task
from executions.redacted_fields import paths_of, paths_of_versions, with_restored
from shared.exceptions import InvalidInput
from shared.redaction import MASK
from tasks.calendars import limits_of
from tasks.validation.bodies import parse_patch
from tests.factories import ACTOR, daily, make_task, make_tenant

pytestmark = pytest.mark.django_db
NUMBER, NAME = "$.card.number", "$.card.name"


@pytest.fixture
def task():
    return make_task(make_tenant(), daily(payload={"card": {"number": 1}}, redact=[NUMBER]))


def edit(task, **body):
    limits = limits_of(task.tenant_id)
    edit_task(
        task.tenant_id,
        task.id,
        lambda current, now: parse_patch(current, body, now=now, limits=limits),
        actor=ACTOR,
    )


def test_a_path_that_is_added_later_covers_the_past(task):
    edit(task, redact=[NUMBER, NAME])

    assert paths_of(task.id, 1) == [NUMBER, NAME]


def test_a_path_that_is_taken_away_goes_on_covering_the_past(task):
    edit(task, redact=[])

    assert paths_of(task.id, 1) == [NUMBER]
    assert paths_of(task.id, 2) == []


def test_many_versions_are_read_in_one_query(task, django_assert_num_queries):
    other = make_task(task.tenant, daily(name="other"))

    with django_assert_num_queries(1):
        found = paths_of_versions({(task.id, 1), (other.id, 1), (uuid4(), 1)})

    assert found == {(task.id, 1): [NUMBER]}
    assert paths_of_versions(set()) == {}


def test_a_mask_that_a_person_sends_back_is_the_value_before(task):
    before = {"card": {"number": "4111"}}
    masked = {"card": {"number": MASK, "name": "B"}}

    found = with_restored(masked, task.id, 1, lambda: before)

    assert found == {"card": {"number": "4111", "name": "B"}}


def test_a_mask_in_place_of_nothing_is_refused(task):
    with pytest.raises(InvalidInput) as refused:
        with_restored({"card": {"number": MASK}}, task.id, 1, dict)
    assert [one.code for one in refused.value.errors] == ["value_masked"]


def test_without_paths_the_payload_before_is_not_opened(task):
    other = make_task(task.tenant, daily(name="other"))

    def refuse():
        raise AssertionError("opened")

    assert with_restored({"n": MASK}, other.id, 1, refuse) == {"n": MASK}
