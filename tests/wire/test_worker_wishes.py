"""Wishes are changed all or none, under the version that was read, and outlive a flush of Redis."""

from __future__ import annotations

import pytest

from shared.redis_client import WORKER_INFO_KEY, WORKER_WISHES_KEY, WORKERS_KEY, client
from tests.support.beats import beat, silence
from wire import heartbeats, worker_wishes
from wire.heartbeats import workers
from wire.worker_wishes import NO_WISH, Wish, Word, change, decode, encode

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


def heed(worker: str, known: Wish) -> Wish:
    """Beat as a worker does, and return the wish that it reads."""
    keys = (WORKERS_KEY, WORKER_INFO_KEY, WORKER_WISHES_KEY)
    script = worker_wishes.heed_script()
    return decode(client().eval(script, 3, *keys, worker, b'{"quiet":false}', encode(known)))


def wishes() -> dict[str, tuple[str, int]]:
    return {one.id: (one.wish.word, one.wish.version) for one in workers()}


def test_a_change_raises_the_version_of_each_worker():
    beat("w1")
    beat("w2")

    assert change(Word.QUIET, {"w1": 0, "w2": 0}) == ""
    assert change(Word.WORK, {"w2": 1}) == ""

    assert wishes() == {"w1": ("quiet", 1), "w2": ("work", 2)}
    asked_at = workers()[0].wish.asked_at
    assert asked_at == pytest.approx(client().time()[0], abs=3600)


@pytest.mark.parametrize("refused", [{"w1": 0, "w2": 1}, {"w1": 0, "gone": 0}])
def test_one_that_has_changed_or_gone_refuses_the_change_of_all(refused):
    beat("w1")
    beat("w2")

    assert change(Word.DRAIN, refused) == list(refused)[-1]

    assert wishes() == {"w1": ("work", 0), "w2": ("work", 0)}


def test_a_heartbeat_brings_the_wish():
    assert heed("w1", NO_WISH) == NO_WISH
    change(Word.DRAIN, {"w1": 0})

    found = heed("w1", NO_WISH)

    assert (found.word, found.version) == ("drain", 1)
    assert workers()[0].live


@pytest.mark.parametrize("older", [None, Wish(Word.WORK, 1, 5.0)])
def test_a_worker_puts_a_lost_wish_back_and_no_older_one(older):
    beat("w1")
    known = Wish(Word.QUIET, 2, 7.0)
    if older is not None:
        client().hset(WORKER_WISHES_KEY, "w1", encode(older))

    assert heed("w1", known) == known
    assert wishes() == {"w1": ("quiet", 2)}
    # Of the same version or a newer one the stored wish counts.
    assert heed("w1", Wish(Word.WORK, 1, 5.0)) == known


def test_a_wish_is_forgotten_with_its_worker():
    for name in ("stopped", "lost", "stays"):
        beat(name)
    change(Word.QUIET, dict.fromkeys(("stopped", "lost", "stays"), 0))
    client().hset(WORKER_WISHES_KEY, "of nothing", encode(Wish(Word.QUIET, 1, 0.0)))
    silence("lost", 90_000)

    heartbeats.remove("stopped")
    heartbeats.forget_old()

    assert client().hkeys(WORKER_WISHES_KEY) == [b"stays"]
