from __future__ import annotations

from tests.executions.changes.standing import end, stand
from tests.factories import make_task


def test_a_pause_is_shown_open_and_ended(client, viewer, alpha):
    make_task(alpha)
    made = stand(alpha, note="Down.")
    path = f"/v1/pauses/{made.id}"

    shown = viewer.get(path).json()
    assert (shown["scope"], shown["value"], shown["note"]) == ("label", "team:billing", "Down.")
    assert (shown["task_count"], shown["ended_at"], shown["ended_by"]) == (1, None, None)

    end(made)
    shown = client.get(path).json()
    assert (shown["task_count"], shown["ended_by"]) == (0, "test")
    assert shown["ended_at"] is not None
