"""Leases over a real web process: it stops while workers wait, and answers that reach nobody."""

from __future__ import annotations

import http.client
import json
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from typing import Any

import pytest

from executions.external import callbacks
from executions.models import Attempt, Execution
from tenants.models import Tenant
from tests.executions.leasing import POOL, let_expire, work
from tests.factories import make_key, make_tenant
from tests.support.processes import Process, Processes
from tests.support.waiting import until
from tests.support.web import free_port, get
from wire.heartbeats import everyone

pytestmark = pytest.mark.slow

#: As long as a lease may be waited for: longer than a web process takes to stop.
LONGEST = 20
#: A machine under load starts processes slowly.
PATIENT = 120.0
patiently = partial(until, timeout=PATIENT)
QUICK_RETRY = {"max_attempts": 3, "backoff": "fixed", "initial_delay_seconds": 0.1}

Answer = tuple[int, Any]


class Web:
    """A web process, and workers outside that call it, each on a connection of its own."""

    def __init__(self, run: Processes, tenant: Tenant) -> None:
        self.port = free_port()
        self._key = make_key(tenant)[1]
        self.process: Process = run.start("web", PORT=str(self.port))
        patiently(lambda: get(self.port, "/healthz"))

    def lease(self, worker: str, **parts: Any) -> Answer:
        """Lease one execution, waiting for it; return status and document."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENT)) as way:
            way.request("POST", self.path, self.body(worker, **parts), self.headers)
            answer = way.getresponse()
            return answer.status, json.loads(answer.read())

    def lease_and_leave(self, worker: str, **parts: Any) -> None:
        """Ask as ``lease`` does, and be gone before the answer."""
        body = self.body(worker, wait_seconds=0, **parts)
        lines = [f"POST {self.path} HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENT) as way:
            way.sendall("\r\n".join([*lines, "", body]).encode())

    @property
    def path(self) -> str:
        return f"/v1/pools/{POOL}/lease"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}

    def body(self, worker: str, **parts: Any) -> str:
        return json.dumps({"worker": worker, "max": 1, "wait_seconds": LONGEST, **parts})


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return make_tenant()


@pytest.fixture
def web(run: Processes, tenant: Tenant) -> Web:
    return Web(run, tenant)


def waiting(pool: ThreadPoolExecutor, web: Web, count: int) -> list[Future[Answer]]:
    """Let so many workers wait for work; return when the first look of each found nothing."""
    names = {f"w-{number}" for number in range(count)}
    calls = [pool.submit(web.lease, name) for name in sorted(names)]
    patiently(lambda: names <= {one.details.get("name") for one in everyone()})
    return calls


def executions_in(answers: list[Answer]) -> list[str]:
    """Return the executions that were answered; every answer must be in order."""
    assert {status for status, _ in answers} == {200}
    return [one["execution"]["id"] for _, document in answers for one in document["leases"]]


def test_a_stop_answers_those_who_wait_for_work_and_does_not_wait_with_them(
    tenant: Tenant, web: Web
) -> None:
    work(tenant, 0)
    with ThreadPoolExecutor(8) as pool:
        calls = waiting(pool, web, 8)

        web.process.ask_to_stop()

        # Whoever were kept waiting would have been cut off after the time that a stop may take.
        assert executions_in([call.result(PATIENT) for call in calls]) == []
        assert web.process.popen.wait(PATIENT) == 0
    with pytest.raises(ConnectionRefusedError):
        web.lease("late")


def test_a_stop_while_work_is_handed_out_loses_no_lease(tenant: Tenant, web: Web) -> None:
    def ask_until_the_end(worker: str) -> list[str]:
        found: list[str] = []
        with suppress(ConnectionError):
            while True:
                found += executions_in([web.lease(worker)])
        return found

    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(ask_until_the_end, f"w-{number}") for number in range(8)]
        work(tenant, 40)
        patiently(Execution.objects.filter(status="QUEUED").exists)

        web.process.ask_to_stop()

        answered = [one for call in calls for one in call.result(PATIENT)]
        assert web.process.popen.wait(PATIENT) == 0
    # What the ledger believes to be with a worker was handed to one, and only to one.
    handed = Execution.objects.filter(status="QUEUED").values_list("id", flat=True)
    assert sorted(answered) == sorted(str(one) for one in handed)
    assert Execution.objects.filter(status__in=["QUEUED", "PENDING"]).count() == 40


def test_a_lease_whose_answer_reaches_nobody_comes_back_when_it_ends(
    run: Processes, tenant: Tenant, web: Web
) -> None:
    work(tenant, retry_policy=QUICK_RETRY)
    web.lease_and_leave("gone", lease_seconds=3600)
    patiently(Execution.objects.filter(status="QUEUED", worker="gone").exists)
    run.start("scheduler")

    let_expire(Execution.objects.get().id)

    (found,) = patiently(lambda: web.lease("heir")[1]["leases"])
    callbacks.complete(Execution.objects.get().id, found["fencing_token"])
    execution = Execution.objects.get()
    assert (execution.status, execution.worker) == ("SUCCEEDED", "heir")
    outcomes = Attempt.objects.order_by("number").values_list("worker", "outcome")
    assert list(outcomes) == [("gone", "WORKER_LOST"), ("heir", "SUCCEEDED")]
