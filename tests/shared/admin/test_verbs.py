from __future__ import annotations

import pytest
from django.contrib import messages
from django.db import OperationalError

from shared.actor import COMMAND
from shared.admin.verbs import Verb, carry_out
from shared.exceptions import Conflict, NotFound, Unavailable
from tenants.models import Tenant

pytestmark = pytest.mark.django_db


def verb(apply, **parts):
    return Verb("pause", "Pause", "paused", apply, **parts)


def test_counts_say_what_was_done_skipped_and_failed():
    def apply(row, actor, options):
        assert (actor, options) == (COMMAND, {"note": "x"})
        if row == "refused":
            raise NotFound("There is no such task.")
        if row == "ended":
            raise Conflict("A task that is COMPLETED cannot be paused.")

    done = carry_out(
        verb(apply, skip=lambda row: "already paused" if row == "paused" else ""),
        ["a", "b", "paused", "refused", "ended"],
        COMMAND,
        {"note": "x"},
    )

    assert done.sentence(verb(apply)) == (
        "2 paused, 2 skipped (already paused; a task that is COMPLETED cannot be paused), "
        "1 failed (there is no such task)."
    )
    assert done.level == messages.WARNING


def test_a_refusal_undoes_its_own_row_only():
    def apply(row, actor, options):
        Tenant.objects.create(name=row)
        if row == "second":
            raise Unavailable("Redis is away.")

    done = carry_out(verb(apply), ["first", "second", "third"], COMMAND, {})

    assert (done.done, done.failed.total()) == (2, 1)
    assert set(Tenant.objects.values_list("name", flat=True)) == {"first", "third"}


@pytest.mark.logs("admin_action.failed")
def test_a_busy_database_is_counted_and_not_an_error_page():
    def apply(row, actor, options):
        raise OperationalError("canceling statement due to lock timeout")

    done = carry_out(verb(apply), ["a"], COMMAND, {})

    assert done.sentence(verb(apply)).endswith("1 failed (the database was busy; try again).")
    assert done.level == messages.ERROR


def test_many_reasons_are_cut_short():
    def apply(row, actor, options):
        raise Conflict(f"Reason {row}.")

    sentence = carry_out(verb(apply), range(5), COMMAND, {}).sentence(verb(apply))

    assert sentence.count("reason ") == 3
    assert "…" in sentence


def test_nothing_done_is_no_success():
    done = carry_out(verb(lambda *_: None), [], COMMAND, {})

    assert done.sentence(verb(None)) == "0 paused, 0 skipped, 0 failed."
    assert done.level == messages.WARNING
