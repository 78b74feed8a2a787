"""Guessing passwords is slowed down, and neither strangers nor a lost Redis keep anybody out."""

from __future__ import annotations

from dashboard import throttle
from tests.support.closed_redis import closed_redis


def test_tries_are_refused_after_too_many_failures_from_one_address(db):
    for _ in range(throttle.MAX_FAILURES):
        assert not throttle.is_refused("ann", "192.0.2.1")
        throttle.note_failure("ann", "192.0.2.1")

    assert throttle.is_refused("ann", "192.0.2.1")


def test_failures_from_elsewhere_or_of_others_refuse_nothing(db):
    for number in range(throttle.MAX_FAILURES * 3):
        throttle.note_failure("ann", f"192.0.2.{number}")
        throttle.note_failure(f"other{number}", "203.0.113.1")

    assert not throttle.is_refused("ann", "203.0.113.1")


def test_an_address_that_fails_for_many_accounts_is_refused_for_all(db):
    for number in range(throttle.MAX_FAILURES_OF_ADDRESS):
        throttle.note_failure(f"user{number}", "192.0.2.1")

    assert throttle.is_refused("ann", "192.0.2.1")
    assert not throttle.is_refused("ann", "192.0.2.2")


def test_a_success_forgets_the_failures_of_this_account_from_this_address(db):
    for _ in range(throttle.MAX_FAILURES):
        throttle.note_failure("ann", "192.0.2.1")
        throttle.note_failure("bob", "192.0.2.1")

    throttle.forget_failures("ann", "192.0.2.1")

    assert not throttle.is_refused("ann", "192.0.2.1")
    assert throttle.is_refused("bob", "192.0.2.1")


def test_without_redis_the_password_still_decides(db, monkeypatch):
    monkeypatch.setattr("shared.windowed_counts.client", closed_redis)

    throttle.note_failure("ann", "192.0.2.1")
    throttle.forget_failures("ann", "192.0.2.1")

    assert not throttle.is_refused("ann", "192.0.2.1")


def test_other_spellings_of_a_name_count_as_one():
    blanks = " " * 500

    assert throttle.account_name(f"{blanks}\uff21nn{blanks}") == "ann"


def test_a_text_that_is_longer_than_names_is_not_normalised():
    assert throttle.account_name("\uff21" * 151) == "\uff21" * 151
