"""What is shown of a secret: everything but its value."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tasks.named_secrets.presentation import present_secret
from tasks.named_secrets.uses import User
from tests.support.named_secrets import HOST, VALUE, make_secret

pytestmark = pytest.mark.django_db


def test_a_secret_is_shown_without_its_value(alpha):
    shown = present_secret(make_secret(alpha), 2)

    assert (shown["name"], shown["hosts"], shown["tasks"]) == ("token", [HOST], 2)
    assert VALUE not in str(shown)
    assert not {"sealed", "value", "used_by"} & set(shown)


def test_its_tasks_are_named_where_asked_for(alpha):
    task, flow = User(uuid4(), "A", False), User(uuid4(), "B", True)

    shown = present_secret(make_secret(alpha), 2, [task, flow])

    assert shown["used_by"] == [
        {"id": str(task.id), "name": "A", "kind": "task"},
        {"id": str(flow.id), "name": "B", "kind": "workflow"},
    ]
