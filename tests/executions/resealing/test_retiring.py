"""A data key is destroyed only when nothing needs it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from events.models import AuditEntry
from executions.models import Execution
from executions.resealing.passes import rotate, run_some
from executions.resealing.retiring import retire
from shared.conf import conf
from shared.data_keys import forget_all
from shared.exceptions import Conflict, NotFound
from shared.ids import new_id
from tasks.models import TaskRevision
from tasks.revisions import open_payload
from tenants.models import DataKey, Tenant
from tests.executions.resealing.stored import working
from tests.factories import ACTOR, finish, make_task

pytestmark = pytest.mark.django_db


def ago(**since: float) -> None:
    """Let former keys have been replaced some time ago."""
    former = DataKey.objects.exclude(replaced_at=None)
    former.update(replaced_at=F("replaced_at") - timedelta(**since))


def former_key(tenant: Tenant, *, passes: bool = True) -> DataKey:
    """Rotate the tenant's key; return the former one, replaced an hour ago."""
    made = rotate(tenant.id, actor=ACTOR)
    forget_all()
    while passes and run_some(made.id):
        pass
    ago(hours=1)
    return DataKey.objects.filter(tenant=tenant).exclude(replaced_at=None).latest("generation")


def refusal(act: Callable[[], Any]) -> str:
    with pytest.raises(Conflict) as refused:
        act()
    return str(refused.value.code)


def test_a_key_that_nothing_needs_is_destroyed_and_everything_opens(alpha: Tenant):
    task = make_task(alpha)
    key = former_key(alpha)

    retire(key.id, actor=ACTOR)

    forget_all()
    assert not DataKey.objects.filter(pk=key.id).exists()
    assert open_payload(task.id, 1) == {"report": 1}
    assert AuditEntry.objects.filter(action="data_key.retired", object_id=str(key.id)).exists()
    with pytest.raises(NotFound):
        retire(key.id, actor=ACTOR)


def test_the_key_that_seals_is_kept(alpha: Tenant):
    key = DataKey.objects.get(tenant=alpha)

    assert refusal(lambda: retire(key.id, actor=ACTOR)) == "key_seals"


def test_a_key_that_processes_may_still_seal_by_is_kept(alpha: Tenant):
    key = former_key(alpha)
    DataKey.objects.filter(pk=key.pk).update(replaced_at=F("replaced_at") + timedelta(hours=1))

    assert refusal(lambda: retire(key.id, actor=ACTOR)) == "key_overlaps"


def test_a_key_is_kept_while_values_are_sealed_anew(alpha: Tenant):
    key = former_key(alpha, passes=False)

    assert refusal(lambda: retire(key.id, actor=ACTOR)) == "resealing"


def test_a_key_is_kept_while_a_value_has_it(alpha: Tenant):
    task = make_task(alpha)
    sealed = bytes(TaskRevision.objects.get(task=task).sealed)
    key = former_key(alpha)
    TaskRevision.objects.filter(task=task).update(sealed=sealed)

    assert refusal(lambda: retire(key.id, actor=ACTOR)) == "values"


def test_a_key_is_kept_while_a_message_of_before_its_replacement_is_open(alpha: Tenant):
    row = working(alpha)
    Execution.objects.filter(pk=row.id).update(queued_at="2020-01-01T00:00:00Z")
    key = former_key(alpha)

    assert refusal(lambda: retire(key.id, actor=ACTOR)) == "messages_in_flight"
    finish(row)
    retire(key.id, actor=ACTOR)


def test_a_message_of_behind_the_replacement_needs_no_former_key(alpha: Tenant):
    key = former_key(alpha)
    working(alpha)

    retire(key.id, actor=ACTOR)

    assert not DataKey.objects.filter(pk=key.id).exists()


def test_a_key_that_archived_days_may_need_is_kept_unless_they_may_stay_closed(
    alpha: Tenant, settings: Any, tmp_path: Path
):
    settings.PUNCTUAL = dataclasses.replace(conf(), archive_dir=str(tmp_path))
    (tmp_path / "executions").mkdir()
    (tmp_path / "executions" / "2020-01-01.json").write_text("{}")
    key = former_key(alpha)

    assert refusal(lambda: retire(key.id, actor=ACTOR)) == "archives"
    retire(key.id, actor=ACTOR, archives=False)


def test_an_unknown_key_is_not_found(db: None):
    with pytest.raises(NotFound):
        retire(new_id(), actor=ACTOR)
