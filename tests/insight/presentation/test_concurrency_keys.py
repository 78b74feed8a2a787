from __future__ import annotations

from datetime import UTC, datetime

from executions.gate.key_list import Holder, ShownKey
from insight.presentation.concurrency_keys import present_key
from shared.ids import new_id

AT = datetime(2027, 1, 1, tzinfo=UTC)


def test_a_key_is_shown_with_its_holders():
    holder = Holder(new_id(), new_id(), None, "QUEUED", None, AT)

    found = present_key(ShownKey("a", 1, 2, AT, [holder]))

    assert found == {
        "key": "a",
        "in_use": 1,
        "waiting": 2,
        "waiting_since": "2027-01-01T00:00:00.000Z",
        "holders": [
            {
                "execution_id": str(holder.id),
                "task_id": str(holder.task_id),
                "task_name": None,
                "status": "QUEUED",
                "started_at": None,
                "due_at": "2027-01-01T00:00:00.000Z",
            }
        ],
    }


def test_a_key_without_open_work_has_no_moment():
    assert present_key(ShownKey("a", 0, 0, None, []))["waiting_since"] is None
