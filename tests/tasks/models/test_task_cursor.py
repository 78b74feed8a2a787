from __future__ import annotations

import pytest

from tasks.models import TaskCursor
from tests.factories import daily, make_task, make_tenant

pytestmark = pytest.mark.django_db


def test_a_cursor_goes_with_its_task():
    task = make_task(make_tenant("Alpha"), daily())
    assert str(TaskCursor.objects.get()) == str(task.id)

    task.delete()

    assert not TaskCursor.objects.exists()
