from __future__ import annotations

import pytest

from bench.chaos.site import Site
from bench.chaos.zombies import Zombie, refusals, runs_something, worker_is_lost
from bench.installation import Installation
from executions.loop.refusals import OUTCOMES, note
from operations.proof.campaign import Outcome
from operations.proof.matcher import Verdict
from operations.proof.workload import Window
from shared.redis_client import client

SITE = Site(Installation("http://127.0.0.1:1", "secret", {"DATA_DIR": "/nowhere"}))


def outcome() -> Outcome:
    return Outcome(Window(0, 1000, "http://127.0.0.1:2", "w"), Verdict(), 1, 0, True, 1.0)


def zombie(refused: int) -> Zombie:
    counts = {"outcomes": refused, "starts": 0, "leases": 0}
    return Zombie("worker", runs_something, 7.0, worker_is_lost, OUTCOMES, counts=counts)


def test_how_much_was_refused_is_told():
    found = outcome()

    assert zombie(3).check(SITE, found) == []
    assert found.notes == ["refused of the worker: outcomes 3, starts 0, leases 0"]


def test_a_zombie_that_was_refused_nothing_proves_nothing():
    assert zombie(0).check(SITE, outcome()) == ["no outcomes of it were refused"]


@pytest.mark.usefixtures("django_db_modify_db_settings")
def test_the_products_own_counts_are_read(monkeypatch: pytest.MonkeyPatch):
    note(OUTCOMES, 2)
    monkeypatch.setattr(Site, "valkey", lambda self: client())

    assert refusals(SITE) == {"outcomes": 2, "starts": 0, "leases": 0}
