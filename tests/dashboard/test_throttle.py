"""Guessing passwords is slowed down, and a Redis that is away keeps nobody out."""

from __future__ import annotations

from dashboard import throttle
from tests.support.closed_redis import closed_redis


def test_tries_are_refused_after_too_many_failures(db):
    for _ in range(throttle.MAX_FAILURES):
        assert not throttle.is_refused("account:ann")
        throttle.note_failure("account:ann", "address:1.2.3.4")

    assert throttle.is_refused("account:ann")
    assert throttle.is_refused("account:bob", "address:1.2.3.4")
    assert not throttle.is_refused("account:bob")


def test_a_success_forgets_the_accounts_failures(db):
    for _ in range(throttle.MAX_FAILURES):
        throttle.note_failure("account:ann")

    throttle.forget_failures("account:ann")

    assert not throttle.is_refused("account:ann")


def test_without_redis_the_password_still_decides(db, monkeypatch):
    monkeypatch.setattr("dashboard.throttle.client", closed_redis)

    throttle.note_failure("account:ann")
    throttle.forget_failures("account:ann")

    assert not throttle.is_refused("account:ann")
