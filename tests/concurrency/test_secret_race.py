"""A secret is removed while a task begins to use it: one of the two waits, and then is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from shared.exceptions import Conflict, InvalidInput, QuotaExceeded
from tasks.models import NamedSecret
from tasks.named_secrets.services import change_secret, remove_secret
from tasks.named_secrets.uses import note
from tasks.revisions import read_definition
from tenants.models import Tenant
from tests.factories import ACTOR, daily, make_task
from tests.support.named_secrets import make_secret, using

Beside = Callable[[Callable[[], Any]], Any]


def remove(tenant: Tenant) -> None:
    remove_secret(tenant.id, "token", actor=ACTOR)


def test_a_secret_is_not_removed_under_a_task_that_is_being_made(alpha: Tenant, beside: Beside):
    make_secret(alpha)
    with transaction.atomic():
        make_task(alpha, daily(target=using()))
        removing = beside(lambda: remove(alpha))
        assert removing.waits_for_a_lock()

    with pytest.raises(Conflict):
        removing.join()
    assert NamedSecret.objects.exists()


def test_a_task_is_not_made_with_a_secret_that_is_being_removed(alpha: Tenant, beside: Beside):
    make_secret(alpha)
    with transaction.atomic():
        remove(alpha)
        making = beside(lambda: make_task(alpha, daily(target=using())))
        assert making.waits_for_a_lock()

    with pytest.raises(InvalidInput) as refused:
        making.join()
    assert refused.value.errors[0].code == "secret_unknown"


def test_a_change_of_a_secret_does_not_keep_tasks_from_using_it(alpha: Tenant, beside: Beside):
    make_secret(alpha)
    task = make_task(alpha, daily(target=using()))
    with transaction.atomic():
        change_secret(alpha.id, "token", {"value": "another-value"}, actor=ACTOR)
        noting = beside(lambda: note(alpha.id, [(task, read_definition(task))], anew=True))
        assert not noting.waits_for_a_lock()

    noting.join()


def test_two_changes_of_a_secret_follow_each_other(alpha: Tenant, beside: Beside):
    make_secret(alpha)
    with transaction.atomic():
        change_secret(alpha.id, "token", {"value": "first-value"}, actor=ACTOR)
        second = beside(
            lambda: change_secret(alpha.id, "token", {"value": "second-value"}, actor=ACTOR)
        )
        assert second.waits_for_a_lock()

    assert second.join().version == 3


def test_two_sessions_do_not_share_the_last_place(
    alpha: Tenant, beside: Beside, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tasks.named_secrets.services.NAMED_SECRETS", 1)
    with transaction.atomic():
        make_secret(alpha)
        second = beside(lambda: make_secret(alpha, "other"))
        assert second.waits_for_a_lock()

    with pytest.raises(QuotaExceeded):
        second.join()
