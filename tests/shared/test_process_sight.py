"""Names of processes as members and keys of tenants see them."""

from __future__ import annotations

import pytest

from shared.process_sight import is_hidden, shown_scheduler, shown_worker, sight

WORKER = "worker-1@node-7.internal:4242-a1b2c3"


def test_processes_are_shown_unless_a_door_says_otherwise():
    assert not is_hidden()
    assert shown_worker(WORKER) == WORKER


def test_a_worker_of_ours_is_named_without_its_host_and_process():
    with sight(False):
        shown, other = shown_worker(WORKER), shown_worker(WORKER[:-1] + "4")
        again = shown_worker(WORKER)

    assert shown == again != other
    assert shown.startswith("worker-1-")
    for secret in ("node-7", "4242", "a1b2c3", "@"):
        assert secret not in shown


@pytest.mark.parametrize("worker", ["worker@h:1", "@h:1", "a@b@c:12-ff", "w@::1:9-ab12"])
def test_every_form_of_our_names_is_replaced(worker: str):
    with sight(False):
        assert "@" not in shown_worker(worker)


@pytest.mark.parametrize("worker", ["", "etl-1", "node-3-815", "who@where", "a:1"])
def test_what_a_tenants_own_worker_calls_itself_stays(worker: str):
    with sight(False):
        assert shown_worker(worker) == worker


def test_a_scheduler_is_named_without_its_host():
    assert shown_scheduler("scheduler-1@node-7") == "scheduler-1@node-7"
    with sight(False):
        shown = shown_scheduler("scheduler-1@node-7")
        assert shown_scheduler("") == ""

    assert shown.startswith("scheduler-1-")
    assert "node-7" not in shown


def test_a_block_that_fails_leaves_nothing_behind():
    with pytest.raises(ValueError, match="x"), sight(False):
        raise ValueError("x")
    assert not is_hidden()
