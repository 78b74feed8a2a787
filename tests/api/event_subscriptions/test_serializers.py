from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from api.event_subscriptions.serializers import EventFilter, SubscriptionCreateBody

TASK = str(uuid4())


def test_a_filter_is_stored_as_json_without_repeats():
    filter = EventFilter(data={"task_ids": [TASK, TASK], "labels": {"team": "", "a": "b"}})

    assert filter.is_valid()
    assert filter.validated_data == {"task_ids": [TASK], "labels": {"team": "", "a": "b"}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"task_ids": ["x"]},
        {"task_ids": TASK},
        {"task_ids": [TASK] * 101},
        {"labels": {"a": 1}},
        {"labels": {str(number): "" for number in range(11)}},
        {"labels": {"a": "x" * 201}},
        {"label": "a"},
        [],
        None,
    ],
)
def test_other_filters_are_refused(wrong: Any):
    body = {"url": "https://a.example.com/", "types": ["task.changed"], "filter": wrong}

    assert not SubscriptionCreateBody(data=body).is_valid()
