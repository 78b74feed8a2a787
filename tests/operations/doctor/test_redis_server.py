from __future__ import annotations

import pytest

from operations.doctor import Verdict, redis_server
from shared.redis_client import client

pytestmark = pytest.mark.usefixtures("django_db_modify_db_settings")


def _with(monkeypatch, **info: object) -> None:
    monkeypatch.setattr(redis_server, "_info", lambda section: info)


def test_the_product_and_its_own_version_are_told():
    found = redis_server.server_version()

    assert found.verdict is Verdict.OK
    assert found.evidence.startswith("Valkey 9")


@pytest.mark.parametrize(
    ("info", "verdict"),
    [
        ({"redis_version": "8.2.1"}, Verdict.OK),
        ({"redis_version": "6.2.0"}, Verdict.FAILED),
        ({"redis_version": "7.2.4", "valkey_version": "7.2.9"}, Verdict.FAILED),
    ],
)
def test_old_servers_are_refused(monkeypatch, info, verdict):
    _with(monkeypatch, **info)

    assert redis_server.server_version().verdict is verdict


def test_a_server_that_forgets_at_a_restart_is_odd(monkeypatch):
    # The servers of tests keep nothing.
    assert redis_server.persistence().verdict is Verdict.WARNING

    _with(monkeypatch, aof_enabled=1, aof_last_write_status="ok")
    assert redis_server.persistence().verdict is Verdict.OK

    _with(monkeypatch, aof_enabled=1, aof_last_write_status="err")
    assert redis_server.persistence().verdict is Verdict.FAILED


def test_a_server_that_evicts_keys_is_broken(monkeypatch):
    assert redis_server.eviction().verdict is Verdict.OK

    _with(monkeypatch, maxmemory_policy="allkeys-lru", maxmemory=0, used_memory=1)
    assert redis_server.eviction().verdict is Verdict.FAILED

    _with(monkeypatch, maxmemory_policy="noeviction", maxmemory=100, used_memory=90)
    assert redis_server.eviction().verdict is Verdict.WARNING


def test_the_client_never_waits_for_ever(monkeypatch):
    found = redis_server.timeouts()
    monkeypatch.setitem(client().connection_pool.connection_kwargs, "socket_timeout", None)

    assert found.verdict is Verdict.OK
    assert redis_server.timeouts().verdict is Verdict.FAILED
