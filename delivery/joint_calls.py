"""One call for all callers that wait for the same answer, within slots that tenants share.

Used for lookups of names and for token endpoints. A call that has begun goes on when its callers
have left, since the next ones need its answer. A call that has not begun is dropped when its last
caller leaves, so that there are never more waiting calls than callers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from shared.fair_slots import Caller, FairSlots

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Joint(Generic[T]):
    """A call that waits for its slot, or is under way."""

    task: asyncio.Task[T] | None = None
    callers: int = 0
    begun: bool = False


class JointCalls(Generic[K, T]):
    """The calls of one kind; a tenant has at most as many under way as it leaves slots free.

    Callers of different tenants share a call only where their keys are equal: then one waits for
    the slot of the other, so a key should name the tenant.
    """

    def __init__(self, slots: int) -> None:
        self._slots = FairSlots(slots, divided=True)
        self._calls: dict[K, _Joint[T]] = {}

    def __len__(self) -> int:
        return len(self._calls)

    async def answer(self, key: K, tenant: str, call: Callable[[], Awaitable[T]]) -> T:
        """Return the answer of the key's call, which is made unless it waits or is under way.

        Raise what the call raises. A caller that is cancelled does not end the call for others.
        """
        joint = self._calls.get(key)
        if joint is None:
            joint = self._calls[key] = _Joint()
            joint.task = asyncio.ensure_future(self._run(joint, tenant, call))
            joint.task.add_done_callback(partial(self._forget, key, joint))
        task = joint.task
        assert task is not None  # noqa: S101 - set with the call
        joint.callers += 1
        try:
            return await asyncio.shield(task)
        finally:
            joint.callers -= 1
            if not joint.callers and not joint.begun and not task.done():
                # At once: a new caller must not find a call that is about to end.
                self._drop(key, joint)
                task.cancel()

    def close(self) -> None:
        """Cancel all calls and their callers."""
        for joint in list(self._calls.values()):
            if joint.task is not None:
                joint.task.cancel()

    async def _run(self, joint: _Joint[T], tenant: str, call: Callable[[], Awaitable[T]]) -> T:
        async with self._slots.slot(Caller(tenant)):
            joint.begun = True
            return await call()

    def _forget(self, key: K, joint: _Joint[T], task: asyncio.Task[T]) -> None:
        self._drop(key, joint)
        if not task.cancelled():
            task.exception()  # seen, even when every caller has left

    def _drop(self, key: K, joint: _Joint[T]) -> None:
        if self._calls.get(key) is joint:
            del self._calls[key]
