from __future__ import annotations

import pytest

from tasks.timing_targets import start_targets
from tests.executions.changes.changes import patch
from tests.factories import daily, make_task, make_tenant

pytestmark = pytest.mark.django_db


def test_the_target_of_the_current_version_counts():
    alpha = make_tenant("Alpha")
    edited, given, other, none, removed = (
        make_task(alpha, daily(**parts))
        for parts in (
            {},
            {"targets": {"start_within_seconds": 1.5}},
            {"targets": {"max_duration_seconds": 9}},
            {},
            {"targets": {"start_within_seconds": 60}},
        )
    )
    patch(edited, {"targets": {"start_within_seconds": 30}})
    patch(removed, {"targets": None})

    found = start_targets([one.id for one in (edited, given, other, none, removed)])

    assert found == {edited.id: 30.0, given.id: 1.5}
