from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from receiver import jobs as receiver_jobs
from receiver.jobs import LongJobs
from receiver.messages import Request
from receiver.outgoing import Callbacks
from tests.support.http_receiver import HttpReceiver, http_receiver

PATH = "/v1/executions/0193a5f0-0000-7000-8000-000000000001"


def job(api: HttpReceiver, query: str, base: str = "", **headers: str) -> Request:
    given = {
        "x-execution-token": "token",
        "x-scheduler-callback-url": f"http://127.0.0.1:{api.port}{PATH}",
        "x-scheduler-fencing-token": "7",
        **headers,
    }
    return Request("POST", f"/long-job?{query}", tuple(given.items()), base=base)


def jobs_of(api: HttpReceiver) -> LongJobs:
    return LongJobs(Callbacks(f"http://127.0.0.1:{api.port}"))


async def run(api: HttpReceiver, request: Request) -> int | None:
    jobs = jobs_of(api)
    answer = jobs.take(request)
    await asyncio.wait_for(jobs._running.settle(), 20)
    await jobs.close()
    return answer.status


def reports(api: HttpReceiver) -> list[tuple[str, Any]]:
    assert all(got.headers["x-execution-token"] == "token" for got in api.requests)
    return [(got.path.removeprefix(PATH), json.loads(got.body)) for got in api.requests]


async def test_a_job_sends_its_progress_and_completes():
    with http_receiver() as api:
        status = await run(api, job(api, "seconds=0&progress=2"))

    assert status == 202
    assert reports(api) == [
        ("/heartbeat", {"fencing_token": 7, "progress": {"step": 1, "of": 2}}),
        ("/heartbeat", {"fencing_token": 7, "progress": {"step": 2, "of": 2}}),
        ("/complete", {"fencing_token": 7, "result": {"heartbeats": 2}}),
    ]


@pytest.mark.parametrize(("end", "last"), [("fail", ["/fail"]), ("silence", [])])
async def test_a_job_may_fail_or_fall_silent(end: str, last: list[str]):
    with http_receiver() as api:
        await run(api, job(api, f"seconds=0&progress=0&end={end}"))

    assert [path for path, _ in reports(api)] == last


@pytest.mark.parametrize(
    ("status", "body"), [(409, b"{}"), (404, b""), (200, b'{"cancel_requested": true}')]
)
async def test_a_job_that_is_no_longer_wanted_stops(status: int, body: bytes):
    with http_receiver() as api:
        api.status, api.body = status, body
        await run(api, job(api, "seconds=0&progress=5"))

    assert [path for path, _ in reports(api)] == ["/heartbeat"]


@pytest.mark.logs("receiver_job.not_reported")
async def test_the_end_is_reported_again_until_it_is_taken(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_jobs, "_PAUSE_SECONDS", 0)
    with http_receiver() as api:
        api.status = 503
        await run(api, job(api, "seconds=0&progress=0"))

    assert [path for path, _ in reports(api)] == ["/complete"] * 5


@pytest.mark.logs("receiver_callback.failed")
async def test_a_callback_that_fails_does_not_end_the_job(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_jobs, "_PAUSE_SECONDS", 0)
    with http_receiver() as api:
        pass

    assert await run(api, job(api, "seconds=0&progress=1")) == 202


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        ("", {"x-execution-token": ""}),
        ("", {"x-scheduler-callback-url": ""}),
        ("", {"x-scheduler-callback-url": "http://127.0.0.1:1/flushall"}),
        ("", {"x-scheduler-fencing-token": "x"}),
        ("seconds=-1", {}),
        ("progress=10001", {}),
        ("end=maybe", {}),
    ],
)
async def test_a_request_without_a_usable_callback_is_refused(query: str, headers: dict[str, str]):
    with http_receiver() as api:
        status = await run(api, job(api, query, **headers))

    assert (status, api.requests) == (400, [])


async def test_jobs_are_bounded_and_end_with_the_receiver(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_jobs, "MAX_JOBS", 1)
    with http_receiver() as api:
        jobs = jobs_of(api)
        first, second = jobs.take(job(api, "seconds=1000")), jobs.take(job(api, "seconds=1000"))
        await asyncio.wait_for(jobs.close(), 20)

    assert (first.status, second.status, jobs._running.count("")) == (202, 503, 0)


async def test_one_tenants_jobs_leave_room_for_anothers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiver_jobs, "MAX_JOBS", 1)
    with http_receiver() as api:
        jobs = jobs_of(api)
        answers = [jobs.take(job(api, "seconds=1000", base=base)) for base in ("/a", "/a", "/b")]
        await asyncio.wait_for(jobs.close(), 20)

    assert [answer.status for answer in answers] == [202, 503, 202]


async def test_a_job_reports_to_its_own_installation_whatever_the_headers_say():
    with http_receiver() as api, http_receiver() as elsewhere:
        jobs = LongJobs(Callbacks(f"http://127.0.0.1:{api.port}"))
        refused = jobs.take(job(elsewhere, "seconds=0&progress=0"))
        await asyncio.wait_for(jobs._running.settle(), 20)
        await jobs.close()

    assert refused.status == 400
    assert (api.requests, elsewhere.requests) == ([], [])
