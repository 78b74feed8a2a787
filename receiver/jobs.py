"""Jobs that continue after their answer: ``/long-job`` of the test receiver.

Plays a receiver of a target with ``completion: callback``: 202 at once, heartbeats with progress,
and the end through the callback URL of the request, with its token.
"""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Any

from delivery.errors import DeliveryError
from delivery.http_client import Response
from receiver.messages import (
    Answer,
    Request,
    answer_json,
    one_of,
    whole_number,
)
from receiver.outgoing import Callbacks
from receiver.tasks import TasksBySegment

#: Jobs of one tenant that run at a time; further ones are refused with 503.
MAX_JOBS = 200
_MAX_SECONDS = 86_400
_MAX_HEARTBEATS = 10_000
#: How often the end is reported before a job gives up, with a pause between.
_TRIES = 5
_PAUSE_SECONDS = 1.0

logger = logging.getLogger("scheduler_site.receiver_jobs")


@dataclass(frozen=True, slots=True)
class _Job:
    base: str
    token: str
    fencing_token: int
    seconds: int
    heartbeats: int
    end: str


class LongJobs:
    """The jobs under way; bounded in number for each tenant."""

    def __init__(self, outgoing: Callbacks) -> None:
        self._outgoing = outgoing
        self._running = TasksBySegment()

    def take(self, request: Request) -> Answer:
        """Start a job and answer 202; 400 without a callback to report to."""
        try:
            job = self._job(request)
        except ValueError as error:
            return answer_json(400, {"error": str(error)})
        if self._running.count(request.base) >= MAX_JOBS:
            return answer_json(503, {"error": f"{MAX_JOBS} jobs are running"})
        self._running.begin(request.base, self._run(job))
        return answer_json(202, {"seconds": job.seconds, "heartbeats": job.heartbeats})

    async def close(self) -> None:
        """End every job in silence, as a crash would."""
        await self._running.cancel()
        await self._outgoing.close()

    def _job(self, request: Request) -> _Job:
        query = request.query
        token = request.header("x-execution-token")
        base = request.header("x-scheduler-callback-url")
        fencing_token = request.header("x-scheduler-fencing-token") or ""
        if not token or not base:
            raise ValueError("no callback in the request: the target needs completion: callback")
        self._outgoing.url(base, "heartbeat")
        if not fencing_token.isascii() or not fencing_token.isdigit():
            raise ValueError("X-Scheduler-Fencing-Token is no number")
        return _Job(
            base=base,
            token=token,
            fencing_token=int(fencing_token),
            seconds=whole_number(query, "seconds", 10, (0, _MAX_SECONDS)),
            heartbeats=whole_number(query, "progress", 5, (0, _MAX_HEARTBEATS)),
            end=one_of(query, "end", ("complete", "fail", "silence")),
        )

    async def _run(self, job: _Job) -> None:
        pause = job.seconds / (job.heartbeats + 1)
        for step in range(1, job.heartbeats + 1):
            await asyncio.sleep(pause)
            progress = {"step": step, "of": job.heartbeats}
            answer = await self._report(job, "heartbeat", {"progress": progress})
            if answer is not None and _must_stop(answer):
                return
        await asyncio.sleep(pause)
        if job.end == "complete":
            await self._end(job, "complete", {"result": {"heartbeats": job.heartbeats}})
        elif job.end == "fail":
            await self._end(job, "fail", {"error": "asked for", "retry": True})

    async def _end(self, job: _Job, verb: str, body: dict[str, Any]) -> None:
        for _ in range(_TRIES):
            answer = await self._report(job, verb, body)
            if answer is not None and answer.status < 500:
                return
            await asyncio.sleep(_PAUSE_SECONDS)
        logger.warning("receiver_job.not_reported")

    async def _report(self, job: _Job, verb: str, body: dict[str, Any]) -> Response | None:
        headers = [("X-Execution-Token", job.token), ("Content-Type", "application/json")]
        data = json.dumps({"fencing_token": job.fencing_token, **body}).encode()
        url = self._outgoing.url(job.base, verb)
        try:
            return await self._outgoing.send("POST", url, headers, data)
        except DeliveryError as error:
            logger.warning("receiver_callback.failed", extra={"reason": error.code})
            return None


def _must_stop(answer: Response) -> bool:
    """Return whether the execution is no longer this job's, or was cancelled."""
    if answer.status in (401, 403, 404, 409):
        return True
    try:
        return bool(json.loads(answer.body).get("cancel_requested"))
    except (ValueError, AttributeError):
        return False
