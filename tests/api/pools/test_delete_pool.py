from __future__ import annotations

from executions.models import Pool
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.executions.leasing import POOL, work
from tests.factories import ApiClient

PATH = f"/v1/pools/{POOL}"


def test_a_pool_that_no_task_names_is_deleted(client: ApiClient):
    client.patch(PATH, {})

    assert client.delete(PATH).status_code == 204
    assert not Pool.objects.exists()
    audited(POOL, "pool.deleted")


def test_while_a_task_names_it_it_stays(client: ApiClient, alpha: Tenant):
    [task] = work(alpha)

    assert problem(client.delete(PATH)) == (409, "pool_in_use")
    client.delete(f"/v1/tasks/{task.id}")
    assert client.delete(PATH).status_code == 204


def test_the_same_key_gives_the_first_answer_again(client: ApiClient):
    client.patch(PATH, {})
    client.delete(PATH, idempotency_key="1")

    assert client.delete(PATH, idempotency_key="1").status_code == 204
