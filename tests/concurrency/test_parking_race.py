"""Work of a destination without room: claimed, parked, deferred, cancelled, edited at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from executions import transitions
from executions.changes.cancellation import cancel_execution
from executions.destinations.limits import change_limits
from executions.dispatch.stage import Dispatcher
from executions.loop.clocks import database_now
from executions.models import Destination, Execution, SchedulerNode
from executions.ownership.partitions import Partitions
from tasks.models import Task
from tenants.models import Tenant
from tenants.services import active_signing_secrets
from tests.executions.changes.changes import patch, pause
from tests.factories import ACTOR, make_task, once, pass_guard, prepare, release
from tests.support.beats import beat
from wire import messages, start_guard
from wire.destination_key import IN_FLIGHT, RATE
from wire.messages import Claimed

Beside = Callable[[Callable[[], Any]], Any]
HOST = "slow.example.com"
OTHER = "quick.example.com"
LONG_AGO = timedelta(seconds=30)


def due(tenant: Tenant, count: int = 1, *, parked: bool = False) -> list[Task]:
    """Create tasks whose work calls the host and is due since a while."""
    target = {"url": f"https://{HOST}/"}
    tasks = [make_task(tenant, once(name=str(number), target=target)) for number in range(count)]
    prepare()
    rows = Execution.objects.filter(task_id__in=[task.id for task in tasks])
    rows.update(due_at=F("due_at") - LONG_AGO, parked=parked, reason=IN_FLIGHT if parked else "")
    return tasks


def room_of(tenant: Tenant, room: int) -> Mapping[str, Any]:
    """Return the rooms of a pass that has found so much for the host."""
    return {
        "tenants": [tenant.id],
        "hosts": [HOST],
        "rooms": [room],
        "why": [IN_FLIGHT],
        "old_rooms": [0],
        "eldests": [None],
    }


def row(task: Task) -> Execution:
    return Execution.objects.get(task_id=task.id)


def cancel(task: Task) -> str:
    return cancel_execution(task.tenant_id, row(task).id, actor=ACTOR).status


def defer(claimed: Claimed) -> list[Any]:
    """Record that a worker found no room for it."""
    with transaction.atomic():
        until = database_now() + LONG_AGO
        return transitions.defer([(claimed.id, claimed.token, RATE, until)])


def stands(task: Task) -> tuple[str, bool]:
    found = row(task)
    return found.status, found.parked


# --- claims --------------------------------------------------------------------------------------


def test_two_dispatchers_never_claim_the_same_parked_or_due_work(alpha: Tenant, beside: Beside):
    due(alpha, 6, parked=True)
    due(alpha, 6)

    with transaction.atomic():
        mine = release(rooms=room_of(alpha, 4))
        # The other one skips what is locked and does not wait.
        others = beside(lambda: release(rooms=room_of(alpha, 4))).join()

    assert (len(mine), len(others)) == (4, 2)
    assert len({one.id for one in [*mine, *others]}) == 6
    assert len({one.token for one in [*mine, *others]}) == 6
    # What was due and had no room is parked by who met it; nothing is in both places.
    assert Execution.objects.filter(status="QUEUED", parked=False, reason="").count() == 6
    assert Execution.objects.filter(status="PENDING", parked=True, reason=IN_FLIGHT).count() == 6


def test_many_claims_at_once_hand_out_everything_once_and_each_no_more_than_its_room(
    alpha: Tenant, beside: Beside
):
    due(alpha, 30, parked=True)
    due(alpha, 30)
    claimed: list[Claimed] = []

    for _ in range(40):
        looks = [beside(lambda: release(rooms=room_of(alpha, 3))) for _ in range(4)]
        found = [look.join() for look in looks]
        assert all(len(one) <= 3 for one in found)
        claimed += [row for one in found for row in one]
        if len(claimed) >= 60:
            break

    assert len(claimed) == len({one.id for one in claimed}) == 60
    assert len({one.token for one in claimed}) == 60
    assert not Execution.objects.filter(parked=True)


def test_a_zombie_and_its_heir_each_keep_to_the_limit_and_share_no_work(
    alpha: Tenant, beside: Beside
):
    beat("w1", slots=50, hold=50)
    Destination.objects.create(tenant=alpha, host=HOST, max_in_flight=2)
    due(alpha, 20)
    due(alpha, 20, parked=True)
    zombie = Partitions()
    zombie.run_once()
    SchedulerNode.objects.update(
        heartbeat_at=F("heartbeat_at") - LONG_AGO, lease_expires_at=F("lease_expires_at") - LONG_AGO
    )
    heir = Partitions()
    heir.run_once()
    heir.neglected = {}  # the misfire policies have had their say
    assert sorted(heir.ready) == sorted(zombie.ready) != []
    sent: list[Any] = []

    def dispatch(partitions: Partitions) -> int:
        def publish(_: str, message: Any) -> None:
            sent.extend(messages.decode(message)["executions"])

        return Dispatcher(partitions, publish, active_signing_secrets).run_once().done

    looks = [beside(lambda: dispatch(zombie)), beside(lambda: dispatch(heir))]
    done = [look.join() for look in looks]

    # Twice the limit, and five ahead, for each that looks: the start guard is exact.
    assert all(count <= 9 for count in done)
    assert len(sent) == len({entry["id"] for entry in sent}) == sum(done)
    assert Execution.objects.filter(status="QUEUED").count() == sum(done)


def test_a_claim_passes_over_what_another_parks_in_this_moment(alpha: Tenant, beside: Beside):
    (task,) = due(alpha)

    with transaction.atomic():
        assert release(rooms=room_of(alpha, 0)) == []
        assert beside(lambda: release(rooms=room_of(alpha, 5))).join() == []

    assert stands(task) == ("PENDING", True)
    assert len(release(rooms=room_of(alpha, 1))) == 1


# --- cancels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("parked", [True, False])
def test_work_that_is_being_cancelled_is_neither_claimed_nor_parked(
    alpha: Tenant, beside: Beside, parked: bool
):
    (task,) = due(alpha, parked=parked)

    with transaction.atomic():
        assert cancel(task) == "CANCELLED"
        assert beside(lambda: release(rooms=room_of(alpha, 5))).join() == []
        assert beside(lambda: release(rooms=room_of(alpha, 0))).join() == []

    assert release(rooms=room_of(alpha, 5)) == []
    assert stands(task) == ("CANCELLED", parked)


def test_a_cancel_while_parked_work_is_claimed_waits_and_voids_what_was_claimed(
    alpha: Tenant, beside: Beside
):
    (task,) = due(alpha, parked=True)

    with transaction.atomic():
        (claimed,) = release(rooms=room_of(alpha, 1))
        late = beside(lambda: cancel(task))
        assert late.waits_for_a_lock()

    assert late.join() == "CANCELLED"
    assert pass_guard([claimed]) == [start_guard.VOID]
    assert row(task).status == "CANCELLED"


def test_a_cancel_while_due_work_is_parked_waits_and_ends_it(alpha: Tenant, beside: Beside):
    (task,) = due(alpha)

    with transaction.atomic():
        assert release(rooms=room_of(alpha, 0)) == []
        late = beside(lambda: cancel(task))
        assert late.waits_for_a_lock()

    assert late.join() == "CANCELLED"
    assert release(rooms=room_of(alpha, 5)) == []


def test_a_cancel_while_work_comes_back_without_room_ends_it(alpha: Tenant, beside: Beside):
    (task,) = due(alpha)
    (claimed,) = release()

    with transaction.atomic():
        assert defer(claimed) == [claimed.id]
        late = beside(lambda: cancel(task))
        assert late.waits_for_a_lock()

    assert late.join() == "CANCELLED"
    assert row(task).reason == "cancelled"


def test_work_that_was_cancelled_does_not_come_back_without_room(alpha: Tenant, beside: Beside):
    (task,) = due(alpha)
    (claimed,) = release()

    with transaction.atomic():
        assert cancel(task) == "CANCELLED"
        late = beside(lambda: defer(claimed))
        assert late.waits_for_a_lock()

    assert late.join() == []
    assert stands(task) == ("CANCELLED", False)


def test_a_cancel_and_a_claim_at_once_come_to_one_answer_each_time(alpha: Tenant, beside: Beside):
    for task in due(alpha, 15, parked=True):
        claim = beside(lambda: release(rooms=room_of(alpha, 1)))
        end = beside(partial(cancel, task))
        claimed, status = claim.join(), end.join()

        assert status == row(task).status == "CANCELLED"
        # Another may have been claimed in its place; what was cancelled starts nowhere.
        mine = [one for one in claimed if one.task_id == task.id]
        assert pass_guard(mine) == [start_guard.VOID] * len(mine)


# --- edits, pauses, limits -----------------------------------------------------------------------


def test_an_edit_while_work_is_parked_waits_and_moves_it_to_the_new_destination(
    alpha: Tenant, beside: Beside
):
    (task,) = due(alpha)

    with transaction.atomic():
        assert release(rooms=room_of(alpha, 0)) == []
        edit = beside(lambda: patch(task, {"target": {"url": f"https://{OTHER}/"}}))
        assert edit.waits_for_a_lock()
    edit.join()

    (claimed,) = release(rooms=room_of(alpha, 0))
    assert (claimed.revision, claimed.destination) == (2, OTHER)


def test_an_edit_while_work_comes_back_without_room_waits_and_moves_it_too(
    alpha: Tenant, beside: Beside
):
    (task,) = due(alpha)
    (first,) = release()

    with transaction.atomic():
        assert defer(first) == [first.id]
        edit = beside(lambda: patch(task, {"target": {"url": f"https://{OTHER}/"}}))
        assert edit.waits_for_a_lock()
    edit.join()

    (claimed,) = release(rooms=room_of(alpha, 0))
    assert (claimed.revision, claimed.destination) == (2, OTHER)
    # What the worker still says of the former is of no account.
    assert defer(first) == []
    assert row(task).status == "QUEUED"


def test_parked_work_of_a_task_that_is_being_edited_is_not_claimed(alpha: Tenant, beside: Beside):
    (task,) = due(alpha, parked=True)

    with transaction.atomic():
        patch(task, {"target": {"url": f"https://{OTHER}/"}})
        assert beside(lambda: release(rooms=room_of(alpha, 5))).join() == []

    (claimed,) = release(rooms=room_of(alpha, 0))
    assert (claimed.revision, claimed.destination) == (2, OTHER)


def test_parked_work_of_a_task_that_is_being_paused_is_not_claimed(alpha: Tenant, beside: Beside):
    (task,) = due(alpha, parked=True)

    with transaction.atomic():
        pause(task)
        assert beside(lambda: release(rooms=room_of(alpha, 5))).join() == []

    assert release(rooms=room_of(alpha, 5)) == []
    assert stands(task) == ("PENDING", True)


def test_a_limit_counts_for_claims_from_its_commit_on(alpha: Tenant, beside: Beside):
    due(alpha, 30)

    with transaction.atomic():
        change_limits(alpha.id, HOST, {"max_in_flight": 1}, actor=ACTOR)
        before = beside(lambda: release(10)).join()

    assert len(before) == 10
    assert len(release()) == 7
    assert Execution.objects.filter(parked=True, reason=IN_FLIGHT).count() == 13


def test_one_of_two_ends_work_that_is_taken_back_and_comes_back_at_once(
    alpha: Tenant, beside: Beside
):
    (task,) = due(alpha)
    (claimed,) = release()

    with transaction.atomic():
        assert defer(claimed) == [claimed.id]
        rescue = beside(lambda: _withdraw(claimed))
        assert rescue.waits_for_a_lock()

    assert rescue.join() == []
    assert stands(task) == ("PENDING", True)


def _withdraw(claimed: Claimed) -> list[Any]:
    with transaction.atomic():
        return transitions.withdraw([(claimed.id, claimed.token)])
