"""Whatever the owner of the database does to the log is found, apart from what heads alone find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from django.conf import settings as present
from django.db import connection

from events import audit
from events.audit.verifying import GUARDS, Fault, Head, examine, missing_guards
from events.models import AuditChain, AuditEntry
from tests.events.audit.tampering import (
    chain_anew,
    change,
    cut_off,
    entries_of,
    make_chain,
    remove_chain,
    without_triggers,
)

pytestmark = pytest.mark.django_db
KEYS = present.PUNCTUAL.audit_keys


def found(chain: UUID, *heads: Head) -> tuple[Fault | None, int | None]:
    verdict = examine(chain, heads)
    return verdict.fault, verdict.breaks_at


def head_of(chain: UUID, sequence: int) -> Head:
    return Head(sequence, bytes(entries_of(chain)[sequence - 1].hash))


def test_a_chain_that_nobody_touched_verifies():
    chain = make_chain(5)
    verdict = examine(chain, [head_of(chain, 3), head_of(chain, 5)])

    assert (verdict.fault, verdict.breaks_at, verdict.count, verdict.plain) == (None, None, 5, 0)
    assert found(uuid4()) == (None, None)


def alter(chain: UUID) -> None:
    change(entries_of(chain)[2], after='{"n":7}')


def remove(chain: UUID) -> None:
    with without_triggers():
        entries_of(chain)[1].delete()


def remove_and_close_the_gap(chain: UUID) -> None:
    remove(chain)
    with without_triggers():
        for sequence, entry in enumerate(entries_of(chain), start=1):
            AuditEntry.objects.filter(pk=entry.pk).update(sequence=sequence)
        AuditChain.objects.filter(tenant_id=chain, sequence__gt=0).update(sequence=4)


def swap(chain: UUID) -> None:
    _, second, third, *_ = entries_of(chain)
    change(second, sequence=99)
    change(third, sequence=2)
    change(second, sequence=3)


def alter_and_chain_anew(chain: UUID) -> None:
    alter(chain)
    chain_anew(chain, plain=False)


def give_to_another_actor(chain: UUID) -> None:
    change(entries_of(chain)[2], actor="user:99")


def move_in_time(chain: UUID) -> None:
    first, _, third, *_ = entries_of(chain)
    change(third, at=first.at)


def strip_the_key(chain: UUID) -> None:
    change(entries_of(chain)[2], key_id="")


def cut_off_only_entries(chain: UUID) -> None:
    with without_triggers():
        entries_of(chain)[4].delete()


def alter_the_end(chain: UUID) -> None:
    with without_triggers():
        ends = AuditChain.objects.filter(tenant_id=chain, sequence__gt=0)
        ends.update(hash=b"x" * 32)


def name_an_unknown_key(chain: UUID) -> None:
    change(entries_of(chain)[2], key_id="elsewhere")


ATTACKS: list[tuple[Callable[[UUID], None], Fault, int]] = [
    (alter, Fault.ALTERED, 3),
    (give_to_another_actor, Fault.ALTERED, 3),
    (move_in_time, Fault.ALTERED, 3),
    (remove, Fault.MISSING, 2),
    (remove_and_close_the_gap, Fault.ALTERED, 2),
    (swap, Fault.ALTERED, 2),
    (alter_and_chain_anew, Fault.ALTERED, 1),
    (strip_the_key, Fault.NOT_KEYED, 3),
    (cut_off_only_entries, Fault.CUT_OFF, 5),
    (alter_the_end, Fault.END_DIFFERS, 5),
    (name_an_unknown_key, Fault.UNKNOWN_KEY, 3),
]


@pytest.mark.parametrize(
    ("attack", "fault", "place"), ATTACKS, ids=[attack.__name__ for attack, *_ in ATTACKS]
)
def test_an_attack_is_found_where_it_began(attack, fault, place):
    chain = make_chain(5)

    attack(chain)

    assert found(chain) == (fault, place)
    assert audit.verify(chain) == (place - 1, place)


def test_a_history_of_plain_hashes_in_place_of_the_keyed_one_is_found():
    chain = make_chain(5)

    chain_anew(chain, plain=True)

    assert found(chain) == (Fault.UNSEALED, 6)


def test_heads_find_a_tail_that_was_cut_off_with_its_end():
    chain = make_chain(5)
    kept = head_of(chain, 5)

    cut_off(chain, 3)

    assert found(chain) == (None, None)
    assert found(chain, kept) == (Fault.CUT_OFF, 4)


def test_heads_find_other_entries_in_place_of_those_that_were_cut_off():
    chain = make_chain(5)
    kept = head_of(chain, 5)
    cut_off(chain, 3)
    for _ in range(3):
        audit.record(chain, "system", "task.updated", "task", "other")

    assert found(chain) == (None, None)
    assert found(chain, kept) == (Fault.HEAD_DIFFERS, 5)


def test_heads_find_a_chain_that_is_gone():
    chain = make_chain(2)
    kept = head_of(chain, 2)

    remove_chain(chain)

    assert found(chain, kept) == (Fault.CUT_OFF, 1)


def test_the_plain_part_of_an_older_version_verifies_and_the_first_key_seals_it(settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={})
    chain = make_chain(3)
    assert found(chain) == (None, None)
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys=KEYS)
    assert found(chain) == (Fault.UNSEALED, 4)

    audit.record(chain, "system", "audit.sealed", "audit", chain)

    verdict = examine(chain)
    assert (verdict.fault, verdict.count, verdict.plain) == (None, 4, 3)
    change(entries_of(chain)[1], after='{"n":7}')
    with without_triggers():
        previous = bytes(32)
        for entry in entries_of(chain)[:3]:
            previous = audit.links.code(previous, entry, b"")
            AuditEntry.objects.filter(pk=entry.pk).update(hash=previous)
    assert found(chain) == (Fault.ALTERED, 4)


def test_an_older_key_after_a_newer_one_is_found(settings):
    chain = make_chain(1)
    newer = {"new": b"n" * 32, **KEYS}
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys=newer)
    audit.record(chain, "system", "task.updated", "task", "t")
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys=KEYS)
    audit.record(chain, "system", "task.updated", "task", "t")
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys=newer)

    assert found(chain) == (Fault.EARLIER_KEY, 3)


def test_an_entry_without_a_key_does_not_hide_what_is_altered_behind_it(settings):
    chain = make_chain(2)
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={})
    audit.record(chain, "system", "task.updated", "task", "t")
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys=KEYS)
    for _ in range(3):
        audit.record(chain, "system", "task.updated", "task", "t")

    assert found(chain) == (Fault.NOT_KEYED, 3)
    assert audit.verify(chain) == (2, 3)
    change(entries_of(chain)[4], actor="user:99")
    assert found(chain) == (Fault.ALTERED, 5)


def test_entries_that_the_retention_removes_meanwhile_are_no_break(monkeypatch):
    chain = make_chain(5)
    begins = iter([Head(0, b""), head_of(chain, 3)])
    latest = head_of(chain, 3)
    with without_triggers():
        AuditEntry.objects.filter(tenant_id=chain, sequence__lte=3).delete()
    monkeypatch.setattr("events.audit.verifying.begin_of", lambda _: next(begins, latest))

    verdict = examine(chain)

    assert (verdict.fault, verdict.first, verdict.count) == (None, 4, 2)


def test_triggers_that_are_switched_off_are_named():
    assert missing_guards() == []

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_entries DISABLE TRIGGER USER")

    assert missing_guards() == sorted(name for name in GUARDS if "entries" in name)


def test_a_long_chain_is_read_in_parts(monkeypatch):
    monkeypatch.setattr("events.audit.verifying._AT_ONCE", 2)

    assert examine(make_chain(5)).count == 5
