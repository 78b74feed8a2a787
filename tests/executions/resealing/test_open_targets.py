from __future__ import annotations

from uuid import UUID

import pytest

from executions.bulk.sealed_options import shown
from executions.loop.clocks import database_now
from executions.models import BulkJob
from executions.resealing import open_targets
from executions.resealing.open_targets import OPEN_TARGETS, close_targets, count_open
from executions.resealing.passes import run_some
from shared.data_keys import forget_all
from shared.sql import rows
from tasks.models import TaskRevision
from tasks.revisions import read_definition
from tenants.models import DataKey, Tenant
from tenants.services.data_keys import begin_sealing_targets, reseal_tenant
from tests.executions.bulk.bulk import make_job
from tests.factories import ACTOR, make_task, once
from tests.support.places import clear_places_of

pytestmark = pytest.mark.django_db
CANARY = "canary-77c1"
URL = f"https://api.example.com/{CANARY}?key={CANARY}#{CANARY}"
PATCH = {"target": {"url": URL, "headers": {"X-Plain": CANARY}}}


@pytest.fixture
def old(alpha: Tenant) -> Tenant:
    """Return a tenant whose operator has not said yet that targets are sealed."""
    DataKey.objects.update(seals_targets=False)
    forget_all()
    return alpha


def set_job(tenant: Tenant) -> BulkJob:
    return make_job(tenant, "set", "tasks", {}, set=PATCH)


def close_all(tenant: Tenant | None = None) -> list[tuple[int, int]]:
    found = []
    for step in OPEN_TARGETS:
        *_, result = close_targets(step, None if tenant is None else tenant.id)
        found.append((result.done, result.unreadable))
    return found


def test_what_older_versions_have_stored_goes_into_the_sealed_part(old: Tenant):
    task, job = make_task(old, once(target={"url": URL})), set_job(old)
    assert {"task_revisions.definition", "bulk_jobs.options"} <= clear_places_of(CANARY)
    before, options = read_definition(task), shown(job)
    assert begin_sealing_targets() == 1

    assert close_all() == [(1, 0), (1, 0)]

    assert clear_places_of(CANARY) == set()
    assert count_open() == (0, 0)
    assert read_definition(task) == before
    assert shown(BulkJob.objects.get(pk=job.pk)) == options
    assert close_all() == [(0, 0), (0, 0)]


def test_a_tenant_whose_targets_are_not_sealed_keeps_its_own(old: Tenant, beta: Tenant):
    make_task(old, once(target={"url": URL}))
    DataKey.objects.filter(tenant=beta).update(seals_targets=True)
    forget_all()

    assert close_all() == [(0, 0), (0, 0)]
    assert count_open(old.id) == (1, 0)
    assert count_open(beta.id) == (0, 0)


def test_only_the_tenant_that_is_named_is_read(old: Tenant, beta: Tenant):
    make_task(old, once(target={"url": URL}))
    begin_sealing_targets()

    assert close_all(beta) == [(0, 0), (0, 0)]
    assert close_all(old) == [(1, 0), (0, 0)]


def test_a_version_that_no_key_opens_stays_and_is_counted(old: Tenant):
    task = make_task(old, once(target={"url": URL}))
    TaskRevision.objects.filter(task=task).update(sealed=b"\x01")
    begin_sealing_targets()

    assert close_all() == [(0, 1), (0, 0)]
    assert count_open() == (1, 0)


def test_a_version_that_another_session_has_changed_since_it_was_read_stays(old: Tenant):
    task = make_task(old, once(target={"url": URL}))
    begin_sealing_targets()
    wanted = {"after": 0, "tenant": None, "limit": 9, "bytes": 2**20}
    [row] = rows("resealing/open_versions", wanted)
    TaskRevision.objects.filter(task=task).update(sealed=b"other")

    assert not OPEN_TARGETS[0].close(row)

    found = TaskRevision.objects.get(task=task)
    assert bytes(found.sealed) == b"other"
    assert found.definition["target"]["url"] == URL


def test_a_job_whose_sealed_part_an_erasure_has_taken_meanwhile_does_not_get_it_back(old: Tenant):
    make_task(old, once())
    job = set_job(old)
    begin_sealing_targets()
    wanted = {"after": UUID(int=0), "tenant": None, "limit": 9, "bytes": 2**20}
    [row] = rows("resealing/open_jobs", wanted)
    BulkJob.objects.filter(pk=job.pk).update(sealed_payload=None)

    assert not OPEN_TARGETS[1].close(row)
    assert BulkJob.objects.get(pk=job.pk).sealed_payload is None


def test_reseal_of_a_tenant_begins_and_does_it_and_a_rotation_goes_on_with_it(old: Tenant):
    task = make_task(old, once(target={"url": URL}))

    row = reseal_tenant(old.id, actor=ACTOR)
    while run_some(row.id):
        pass

    row.refresh_from_db()
    assert (row.left, row.unreadable) == (0, 0)
    assert clear_places_of(CANARY) == set()
    assert read_definition(task).target["url"] == URL
    # What is stored from now on is sealed at once.
    make_task(old, once(target={"url": URL}))
    assert clear_places_of(CANARY) == set()


def test_an_interrupted_pass_goes_on_behind_its_place(old: Tenant):
    tasks = [make_task(old, once(target={"url": URL})) for _ in range(3)]
    begin_sealing_targets()
    first = close_targets(OPEN_TARGETS[0], old.id)
    place = next(first).place
    assert place is not None
    later = make_task(old, once())
    TaskRevision.objects.filter(task=later).update(
        definition={"target": {"kind": "webhook", "url": URL}}
    )

    *_, result = close_targets(OPEN_TARGETS[0], old.id, place)

    assert result.done == 1
    assert [read_definition(task).target["url"] for task in tasks] == [URL] * 3


def test_an_erased_version_is_nothing_in_clear(old: Tenant):
    task = make_task(old)
    TaskRevision.objects.filter(task=task).update(
        definition={"target": {"kind": "webhook", "url": "https://x/"}, "erased": True}
    )
    begin_sealing_targets()

    assert count_open() == (0, 0)
    assert close_all() == [(0, 0), (0, 0)]


@pytest.mark.parametrize(("answers", "looks"), [([False], 0), ([True, True, False], 2)])
def test_transactions_from_before_are_waited_for(
    monkeypatch: pytest.MonkeyPatch, answers: list[bool], looks: int
):
    waits: list[float] = []
    monkeypatch.setattr(open_targets, "_wait", waits.append)
    monkeypatch.setattr(open_targets, "rows", lambda *_: [(answers.pop(0),)])

    open_targets.wait_for_processes(database_now())

    assert len(waits) == 1 + looks
    assert not answers


def test_a_transaction_that_does_not_end_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
):
    waits: list[float] = []
    monkeypatch.setattr(open_targets, "_wait", waits.append)
    monkeypatch.setattr(open_targets, "rows", lambda *_: [(True,)])

    open_targets.wait_for_processes(database_now())

    assert sum(waits[1:]) == pytest.approx(10)


def test_long_jobs_are_read_one_by_one(old: Tenant, monkeypatch: pytest.MonkeyPatch):
    make_task(old, once())
    jobs = [set_job(old) for _ in range(3)]
    begin_sealing_targets()
    monkeypatch.setattr(open_targets, "_BYTES_AT_ONCE", 1)

    batches = [result.done for result in close_targets(OPEN_TARGETS[1])]

    assert batches == [1, 2, 3, 3]
    assert all(shown(job) == shown(BulkJob.objects.get(pk=job.pk)) for job in jobs)
