from __future__ import annotations

import hashlib
from dataclasses import replace
from uuid import uuid4

import pytest
from django.conf import settings as present
from django.db import IntegrityError, connection, transaction

from events import audit
from events.audit import Change, keys, links
from events.models import AuditChain, AuditEntry, Event
from shared import sql
from shared.actor import Actor

pytestmark = pytest.mark.django_db

OLD = present.PUNCTUAL.audit_keys
ACTOR = Actor("api_key:pk_abc", "192.0.2.7", "a" * 32)


def _record(tenant, **after):
    audit.record(tenant, ACTOR, "task.updated", "task", uuid4(), {"name": "old"}, after)


def _entries(tenant):
    return list(AuditEntry.objects.filter(tenant_id=tenant).order_by("sequence"))


def test_an_entry_says_who_what_when_and_from_where():
    tenant, task = uuid4(), uuid4()

    audit.record(tenant, ACTOR, "task.paused", "task", task, None, {"note": "maintenance"})

    [stored] = _entries(tenant)
    assert (stored.tenant_id, stored.object_id, stored.action) == (tenant, str(task), "task.paused")
    assert (stored.actor, stored.address, stored.trace_id) == (ACTOR.name, ACTOR.address, "a" * 32)
    assert (stored.before, stored.after) == (None, '{"note":"maintenance"}')


def test_a_chain_of_many_entries_verifies():
    tenant = uuid4()
    for number in range(5):
        _record(tenant, number=number, price=1e16, ratio=0.1)
    audit.record_many(tenant, "system", [Change("task.deleted", "task", n) for n in "abc"])

    assert audit.verify(tenant) == (8, None)


def test_entries_that_are_recorded_together_may_be_by_different_actors():
    tenant = uuid4()
    actors = [ACTOR, Actor('user:"7"', "", "b" * 32), Actor("command:ada")]
    changes = [Change("task.created", "task", uuid4(), after={"by": a.name}) for a in actors]

    with transaction.atomic():
        sql.together(*audit.recording(tenant, actors, changes).asked)

    entries = _entries(tenant)
    assert [Actor(e.actor, e.address, e.trace_id) for e in entries] == actors
    assert [e.object_id for e in entries] == [str(change.object_id) for change in changes]
    assert audit.verify(tenant) == (3, None)


def test_an_entry_has_the_active_key(settings):
    tenant = uuid4()
    _record(tenant)
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={"new": b"n" * 32, **OLD})
    _record(tenant)

    assert [entry.key_id for entry in _entries(tenant)] == ["test", "new"]
    assert audit.verify(tenant) == (2, None)


def test_without_a_key_an_entry_has_a_plain_hash(settings):
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={})
    tenant = uuid4()
    _record(tenant)
    [entry] = _entries(tenant)

    assert entry.key_id == ""
    content = links.START + links.content(entry)
    assert bytes(entry.hash) == hashlib.sha256(content).digest()


def test_the_key_itself_is_in_no_statement(settings):
    key = hashlib.sha256(b"a key").digest()
    settings.PUNCTUAL = replace(settings.PUNCTUAL, audit_keys={"k": key})
    tenant = uuid4()
    asked = audit.recording(tenant, [ACTOR], [Change("task.created", "task", "t")]).asked

    sent = b"".join(bytes(v) for _, asked_of in asked for v in asked_of.values() if is_bytes(v))
    padded = key.ljust(64, b"\x00")
    assert keys.pads_of_entry(key, uuid4()).inner != padded.translate(keys._INNER)
    assert key not in sent
    assert padded.translate(keys._INNER) not in sent


def is_bytes(value):
    return isinstance(value, bytes)


def test_tenants_have_chains_of_their_own():
    first, second = uuid4(), uuid4()
    _record(first)
    _record(second)
    _record(first)

    assert [audit.verify(tenant)[0] for tenant in (first, second)] == [2, 1]
    assert audit.verify(uuid4()) == (0, None)


@pytest.mark.parametrize("statement", ["update", "delete"])
def test_the_database_refuses_changes_of_entries(statement):
    tenant = uuid4()
    _record(tenant)
    rows = AuditEntry.objects.filter(tenant_id=tenant)

    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        rows.update(actor="somebody else") if statement == "update" else rows.delete()


@pytest.mark.parametrize("table", ["audit_entries", "audit_chains"])
def test_the_database_refuses_to_truncate_the_log(table):
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"TRUNCATE {table}")


def test_secrets_and_payloads_are_masked():
    tenant, after = uuid4(), {"payload": {"a": "canary"}}
    audit.record(tenant, "command", "task.created", "task", "t", after=after)

    [stored] = _entries(tenant)
    assert "canary" not in str(stored.after)


def test_a_rolled_back_change_leaves_no_entry():
    tenant = uuid4()

    with transaction.atomic():
        _record(tenant)
        transaction.set_rollback(True)

    assert audit.verify(tenant) == (0, None)
    assert not AuditChain.objects.filter(tenant_id=tenant).exists()


def _told(tenant):
    return list(Event.objects.filter(tenant_id=tenant).values_list("name", "subject_id", "task_id"))


def test_what_people_watch_gets_an_event_with_its_entry():
    tenant, task, letter, pause = uuid4(), uuid4(), uuid4(), uuid4()

    audit.record(tenant, ACTOR, "task.paused", "task", task)
    audit.record(tenant, ACTOR, "dead_letter.resolved", "dead_letter", letter)
    audit.record(tenant, ACTOR, "pause.created", "pause", pause)
    audit.record(tenant, ACTOR, "api_key.created", "api_key", uuid4())

    assert sorted(_told(tenant)) == sorted(
        [
            ("task.changed", task, task),
            ("dead_letter.changed", letter, None),
            ("pause.changed", pause, None),
        ]
    )


def test_many_changes_tell_of_each_object_once():
    tenant, tasks = uuid4(), [uuid4() for _ in range(20)]

    audit.record_many(
        tenant, ACTOR, [Change("task.updated", "task", task) for task in [*tasks, *tasks]]
    )

    assert {row[1] for row in _told(tenant)} == set(tasks)
    assert len(_told(tenant)) == 20
