from __future__ import annotations

from uuid import uuid4

from tests.executions.answers import problem
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


def test_unknown_and_other_tenants_pauses_are_404(client, stranger, nobody, alpha):
    made = stand(alpha)

    assert problem(client.get(f"/v1/pauses/{uuid4()}")) == (404, "not_found")
    assert problem(stranger.get(f"/v1/pauses/{made.id}")) == (404, "not_found")
    assert problem(nobody.get(f"/v1/pauses/{made.id}"))[0] == 401
