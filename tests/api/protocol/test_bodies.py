"""Fields of forms and commands are judged by the serializer of the call."""

from __future__ import annotations

import pytest

from api.event_subscriptions.serializers import SubscriptionCreateBody
from api.protocol.bodies import read_fields
from shared.exceptions import InvalidInput


def test_fields_are_returned_as_the_serializer_validates_them():
    given = {"url": "https://a.example/", "types": ["task.changed"]}

    assert read_fields(SubscriptionCreateBody, given) == given


def test_each_error_names_its_field():
    with pytest.raises(InvalidInput) as refused:
        read_fields(SubscriptionCreateBody, {"types": [], "filter": {"task_ids": ["x"]}})

    assert {one.pointer for one in refused.value.errors} == {
        "#/url",
        "#/types",
        "#/filter/task_ids/0",
    }
