"""Old entries go from the begin of a chain only, and the rest still verifies."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, connection, transaction

from events import audit
from events.audit import retention, writing
from events.audit.exporting import export_entries
from events.audit.retention import forget_old_entries
from events.audit.verifying import FORGOTTEN, Fault, Head, examine
from events.models import AuditEntry
from shared.sql import rows
from tests.events.audit.tampering import change, entries_of, make_chain, without_triggers
from tests.support.loops import as_loops

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _kept_for_thirty_days(settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_retention_days=30)


@pytest.fixture
def made(monkeypatch):
    """Return what makes a chain whose entries are so many days old."""

    def make(*ages: int):
        class Clock(datetime):
            @classmethod
            def now(cls, tz=None):
                return NOW - timedelta(days=self_age.pop(0))

        self_age = list(ages)
        with monkeypatch.context() as patch:
            patch.setattr(writing, "datetime", Clock)
            return make_chain(len(ages))

    return make


def numbers(chain):
    return [entry.sequence for entry in entries_of(chain)]


def test_old_entries_go_and_the_rest_verifies_from_the_checkpoint_on(made):
    chain = made(50, 40, 35, 20, 1)

    [done] = forget_old_entries(NOW)

    assert (done.tenant_id, done.removed) == (chain, 3)
    assert numbers(chain) == [4, 5, 6]
    assert entries_of(chain)[-1].action == FORGOTTEN
    verdict = examine(chain)
    assert (verdict.fault, verdict.first, verdict.count) == (None, 4, 3)
    assert next(export_entries(chain))["sequence"] == 4


def test_the_loops_may_remove_what_the_checkpoint_states_and_nothing_else(made):
    chain = made(50, 40, 35, 20, 1)

    with as_loops():
        assert forget_old_entries(NOW)[0].removed == 3
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            rows("audit/forget", {"tenant": chain, "last": 5})

    assert numbers(chain) == [4, 5, 6]


def test_a_temporary_table_does_not_answer_for_the_log(made):
    chain = made(50, 40, 35, 20, 1)

    with as_loops(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE audit_entries (LIKE public.audit_entries)")
        cursor.execute(
            "INSERT INTO pg_temp.audit_entries (id, tenant_id, sequence, at, actor, action,"
            " object_kind, object_id, after, hash, key_id, address, trace_id, before)"
            " SELECT id, tenant_id, 100, at, actor, %s, 'audit', object_id, %s, hash, key_id,"
            " address, trace_id, before FROM public.audit_entries WHERE sequence = 1",
            [FORGOTTEN, '{"through": 5}'],
        )
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            rows("audit/forget", {"tenant": chain, "last": 4})
        cursor.execute("DROP TABLE pg_temp.audit_entries")

    assert numbers(chain) == [1, 2, 3, 4, 5]


def test_a_second_removal_takes_the_first_checkpoint_along(made, settings):
    chain = made(50, 40, 20)
    forget_old_entries(NOW)

    forget_old_entries(NOW + timedelta(days=60))

    assert numbers(chain) == [4, 5]
    assert examine(chain).fault is None


def test_the_last_entry_stays_however_old_it_is(made):
    chain = made(90, 80, 70)

    forget_old_entries(NOW)

    assert numbers(chain) == [3, 4]
    assert examine(chain).fault is None


def test_nothing_goes_without_a_number_of_days(made, settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_retention_days=0)
    chain = made(900, 1)

    assert forget_old_entries(NOW) == []
    assert numbers(chain) == [1, 2]


def test_entries_that_are_old_since_today_wait_for_others(made):
    chain = made(30, 1)

    assert forget_old_entries(NOW + timedelta(hours=1)) == []
    assert numbers(chain) == [1, 2]


def test_one_pass_takes_a_part_of_a_long_chain(made, monkeypatch):
    monkeypatch.setattr(retention, "_AT_ONCE", 2)
    monkeypatch.setattr(retention, "_TIMES", 1)
    chain = made(50, 50, 50, 50, 50, 1)

    forget_old_entries(NOW)
    assert numbers(chain)[0] == 3
    forget_old_entries(NOW)
    assert numbers(chain)[0] == 5
    assert examine(chain).fault is None


def test_one_pass_goes_on_while_much_is_left(made, monkeypatch):
    monkeypatch.setattr(retention, "_AT_ONCE", 2)
    chain = made(50, 50, 50, 50, 50, 1)

    [done] = forget_old_entries(NOW)

    assert (done.removed, numbers(chain)[0]) == (5, 6)
    assert examine(chain).fault is None


def test_what_does_not_verify_is_not_removed(made):
    chain = made(50, 40, 1)
    change(entries_of(chain)[1], actor="user:99")

    [done] = forget_old_entries(NOW)

    assert (done.removed, done.breaks_at) == (0, 2)
    assert numbers(chain) == [1, 2, 3]


def test_the_database_lets_only_entries_go_that_a_checkpoint_names(made):
    chain = made(50, 40, 35, 1)
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        entries_of(chain)[0].delete()
    forget_old_entries(NOW)

    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        entries_of(chain)[0].delete()


def test_a_forged_checkpoint_is_found(made):
    chain = made(50, 40, 35, 20, 1)
    forget_old_entries(NOW)
    fourth, _, checkpoint = entries_of(chain)
    code = bytes(fourth.hash).hex()
    change(checkpoint, after=f'{{"code":"{code}","through":4}}')
    with without_triggers():
        AuditEntry.objects.filter(pk=fourth.pk).delete()

    verdict = examine(chain)

    assert (verdict.fault, verdict.breaks_at) == (Fault.ALTERED, checkpoint.sequence)


def test_more_that_went_than_the_checkpoint_says_is_found(made):
    chain = made(50, 40, 35, 20, 1)
    forget_old_entries(NOW)
    with without_triggers():
        entries_of(chain)[0].delete()

    assert examine(chain).fault == Fault.MISSING


def test_heads_of_removed_entries_do_no_harm_and_later_ones_count(made):
    chain = made(50, 40, 35, 20, 1)
    heads = [Head(entry.sequence, bytes(entry.hash)) for entry in entries_of(chain)]
    forget_old_entries(NOW)

    assert examine(chain, heads).fault is None
    assert examine(chain, [Head(99, b"x" * 32)]).fault == Fault.CUT_OFF
    assert audit.verify(chain) == (3, None)
