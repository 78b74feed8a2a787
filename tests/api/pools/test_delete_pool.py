from __future__ import annotations

from executions.models import Pool
from tenants.models import Tenant
from tests.executions.answers import audited, problem
from tests.executions.leasing import POOL, work
from tests.factories import ApiClient, make_client

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


def test_unknown_and_others_pools_are_404(client: ApiClient, stranger: ApiClient):
    client.patch(PATH, {})

    assert problem(stranger.delete(PATH)) == (404, "not_found")
    assert Pool.objects.exists()


def test_the_same_key_gives_the_first_answer_again(client: ApiClient):
    client.patch(PATH, {})
    client.delete(PATH, idempotency_key="1")

    assert client.delete(PATH, idempotency_key="1").status_code == 204


def test_deleting_needs_the_scope_operate(alpha: Tenant, nobody: ApiClient):
    make_client(alpha).patch(PATH, {})
    others = make_client(alpha, ["read", "write", "worker", "admin"])

    assert nobody.delete(PATH).status_code == 401
    assert problem(others.delete(PATH)) == (403, "forbidden")
