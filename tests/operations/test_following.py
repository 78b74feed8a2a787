from __future__ import annotations

from executions.models import Execution
from operations.following import until_final, wait_for
from tests.factories import finish, make_execution, release, start


def test_it_waits_until_all_have_ended_and_tells_of_every_move(alpha):
    execution = make_execution(alpha)
    moves: list[str] = []
    claimed = release()
    steps = iter([lambda: start(claimed), lambda: finish(claimed[0])])

    found = until_final(
        [execution.id],
        timeout=60,
        changed=lambda row: moves.append(row.status),
        wait=lambda seconds: next(steps)(),
    )

    assert moves == ["QUEUED", "RUNNING", "SUCCEEDED"]
    assert [row.status for row in found] == ["SUCCEEDED"]


def test_when_the_time_is_up_it_returns_how_things_stand(alpha):
    execution = make_execution(alpha)
    clock = iter([0.0, 0.1, 0.6, 1.5])
    pauses: list[float] = []

    found = until_final(
        [execution.id],
        timeout=1.0,
        changed=lambda row: None,
        wait=pauses.append,
        clock=lambda: next(clock),
    )

    assert [row.status for row in found] == ["PENDING"]
    # Pauses grow, and none goes beyond the end.
    assert pauses == [0.05, 0.1]


def test_nothing_to_wait_for_ends_at_once(db):
    assert until_final([], timeout=60, changed=lambda row: None) == []
    wait_for(0)
    assert Execution.objects.count() == 0
