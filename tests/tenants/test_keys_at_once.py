"""Two sessions that change keys at the same moment: one wins, and none keeps a lost right."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from shared.actor import COMMAND, Actor
from shared.exceptions import PunctualError
from tenants.authority import OPERATOR, Authority
from tenants.models import ApiKey
from tenants.services import edit_api_key, revoke_api_key, rotate_api_key
from tests.support.api import make_key, make_tenant

pytestmark = pytest.mark.django_db(transaction=True)
HERE = Actor("test", "127.0.0.1")


def _at_once(*acts: Callable[[], Any]) -> list[str]:
    """Run each act in a session of its own at the same moment; return what each came to."""
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> str:
        try:
            start.wait(30)
            act()
        except PunctualError as error:
            return error.code
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(len(acts)) as pool:
        return sorted(pool.map(run, acts))


def test_a_key_that_is_rotated_twice_at_once_has_one_successor():
    alpha = make_tenant()
    key, _ = make_key(alpha)

    found = _at_once(*[lambda: rotate_api_key(alpha.id, key.id, actor=COMMAND, by=OPERATOR)] * 2)

    assert found == ["done", "key_rotated"]
    assert ApiKey.objects.count() == 2


def test_keys_that_revoke_each_other_do_not_wait_for_each_other():
    alpha = make_tenant()
    one, two = make_key(alpha)[0], make_key(alpha)[0]

    found = _at_once(
        lambda: revoke_api_key(alpha.id, two.id, actor=HERE, by=Authority(key_id=one.id)),
        lambda: revoke_api_key(alpha.id, one.id, actor=HERE, by=Authority(key_id=two.id)),
    )

    # The one that came first has taken the other's right.
    assert found == ["done", "forbidden"]


def test_a_key_that_is_narrowed_meanwhile_gives_no_right_away():
    alpha = make_tenant()
    actor, target = make_key(alpha)[0], make_key(alpha, ["read"])[0]
    locked, asked = threading.Event(), threading.Event()

    def narrow() -> None:
        with transaction.atomic():
            edit_api_key(
                alpha.id, actor.id, {"scopes": ["admin", "read"]}, actor=COMMAND, by=OPERATOR
            )
            locked.set()
            assert asked.wait(30)

    def widen() -> None:
        assert locked.wait(30)
        # Waits for the row of the actor, and sees what it has become.
        timer = threading.Timer(0.2, asked.set)
        timer.start()
        changes = {"scopes": ["read", "write"]}
        edit_api_key(alpha.id, target.id, changes, actor=HERE, by=Authority(key_id=actor.id))

    assert _at_once(narrow, widen) == ["done", "forbidden"]
    assert ApiKey.objects.get(pk=target.pk).scopes == ["read"]
