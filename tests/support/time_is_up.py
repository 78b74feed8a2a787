"""Lets the time of a run be up at a sign, in place of after seconds that a busy machine exceeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.waiting import until
from worker.interruption import Stopping, Why


def when(monkeypatch: pytest.MonkeyPatch, sign: Callable[[], object]) -> None:
    """Let the time of every run be up once the sign is there: what has to come before has come."""

    async def first_of(running: asyncio.Task[Any], seconds: float, stopping: Stopping) -> Why:
        await asyncio.to_thread(until, sign)
        return Why.TIME_IS_UP

    monkeypatch.setattr("worker.interruption.first_of", first_of)
