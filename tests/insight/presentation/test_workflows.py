from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from insight.presentation.workflows import (
    PLACE,
    present_listed_workflows,
    present_workflow,
    present_workflow_revision,
    present_workflows,
)
from shared.redaction import MASK
from tasks.revisions import read_definition
from tests.factories import make_tenant, spoil
from tests.support.workflows import calls, edit_workflow, make_workflow

pytestmark = pytest.mark.django_db


def test_a_workflow_has_its_definition_and_its_state():
    task = make_workflow(make_tenant(), [calls("a")], labels={"team": "data"})

    shown = present_workflow(task)

    assert (shown["id"], shown["status"], shown["version"]) == (str(task.id), "SCHEDULED", 1)
    assert set(PLACE) <= set(shown)
    assert shown["schedule"] is None
    assert present_workflow(task, read_definition(task)) == shown


def test_a_page_costs_as_many_queries_as_one():
    tenant = make_tenant()
    tasks = [make_workflow(tenant, [calls("a")]) for _ in range(5)]
    counts = []
    for some in (tasks[:1], tasks):
        with CaptureQueriesContext(connection) as queries:
            assert len(present_workflows(some)) == len(some)
        counts.append(len(queries))

    assert counts[0] == counts[1]


def test_one_that_no_key_opens_does_not_hide_the_others():
    tenant = make_tenant()
    whole, broken = (make_workflow(tenant, [calls("a")]) for _ in range(2))

    first, second = present_workflows([whole, spoil(broken)])

    assert "missing" not in first
    assert (second["steps"], bool(second["missing"])) == ([], True)


def test_a_version_shows_its_steps():
    task = make_workflow(make_tenant(), [calls("a"), calls("b", "a")])

    shown = present_workflow_revision(task.revisions.get(version=1), read_definition(task))

    assert [step["key"] for step in shown["definition"]["steps"]] == ["a", "b"]


def test_a_field_that_a_step_masks_now_is_masked_in_earlier_versions():
    task = make_workflow(make_tenant(), [calls("a", payload={"card": 1}), calls("b", payload=[2])])
    steps = [calls("a", payload={"card": 3}, redact=["$.card"])]
    task = edit_workflow(task, {"name": "Flow", "steps": steps})

    shown = present_workflow_revision(task.revisions.get(version=1), read_definition(task))

    payloads = [step["payload"] for step in shown["definition"]["steps"]]
    assert payloads == [{"card": MASK}, [2]]


def test_a_list_has_the_number_of_steps_in_place_of_the_steps():
    tenant = make_tenant()
    whole = make_workflow(tenant, [calls("a"), calls("b")], labels={"team": "data"})
    broken = spoil(make_workflow(tenant, [calls("a")]))

    first, second = present_listed_workflows([whole, broken])

    [told] = present_workflows([whole])
    assert first == {
        **{name: told[name] for name in ("id", "name", "labels", "owner", *PLACE)},
        "step_count": 2,
    }
    assert (second["step_count"], bool(second["missing"])) == (0, True)
