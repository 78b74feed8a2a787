from __future__ import annotations

from uuid import uuid4

import pytest

from executions.models import BulkJob, DeadLetter
from shared.exceptions import NotFound
from tasks.models import Task
from tenants.models import Tenant
from tests.factories import make_task, make_tenant

pytestmark = pytest.mark.django_db


@pytest.fixture
def alpha(db: None) -> Tenant:
    return make_tenant("Alpha")


def test_a_row_is_found_by_its_tenant(alpha: Tenant):
    task = make_task(alpha)

    assert Task.objects.get_for_tenant(alpha.id, task.id, lock=True) == task
    assert list(Task.objects.for_tenant(alpha.id)) == [task]


def test_a_row_of_another_tenant_is_as_if_it_were_not_there(alpha: Tenant):
    task, other = make_task(alpha), make_tenant("Other")

    with pytest.raises(NotFound, match="no such task"):
        Task.objects.get_for_tenant(other.id, task.id)
    assert not Task.objects.for_tenant(other.id).exists()


@pytest.mark.parametrize(("model", "word"), [(DeadLetter, "dead letter"), (BulkJob, "bulk job")])
def test_what_is_missing_is_called_by_its_word(
    alpha: Tenant, model: type[DeadLetter] | type[BulkJob], word: str
):
    with pytest.raises(NotFound, match=f"no such {word}"):
        model.objects.get_for_tenant(alpha.id, uuid4())
