"""Duplicates, reordering and lost answers on purpose: ``/chaos`` of the test receiver.

It is between Punctual and a receiver of the user's, and causes the rare faults of networks and
crashes, so that people see whether their receiver drops repeats and accepts any order.
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from delivery.errors import DeliveryError
from delivery.http_client import Response
from receiver.messages import (
    Answer,
    Request,
    answer_json,
    share,
    whole_number,
)
from receiver.outgoing import Outgoing, forwarding_url
from receiver.tasks import TasksBySegment
from shared.addresses import TargetUrl

#: Requests of one tenant on their way through; further ones are refused with 503.
MAX_UNDER_WAY = 100
#: Queries of one tenant whose order and dice are remembered; the oldest is forgotten first.
MAX_ROADS = 100
#: Tenants that have such queries.
_MAX_TENANTS = 1000
_MAX_REORDER = 100
_MAX_HOLD_MS = 60_000
_PASSED_BACK = ("retry-after", "location")

Reply = Callable[[Answer], None]


@dataclass(slots=True)
class _Held:
    """A request that lets others overtake it."""

    left: int
    free: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class _Road:
    """The state that requests with the same query share."""

    url: TargetUrl
    duplicate: float
    drop_answers: float
    reorder: int
    hold_seconds: float
    dice: random.Random
    held: list[_Held] = field(default_factory=list)

    def overtake(self) -> None:
        """Count a request that passed, for every held one."""
        for held in self.held:
            held.left -= 1
            if held.left <= 0:
                held.free.set()

    async def hold(self, steps: int) -> None:
        """Wait until ``steps`` requests have passed, or for as long as the query says."""
        held = _Held(steps)
        self.held.append(held)
        try:
            async with asyncio.timeout(self.hold_seconds):
                await held.free.wait()
        except TimeoutError:
            pass  # not enough requests came
        finally:
            self.held.remove(held)


class Chaos:
    """Forwards requests; bounded in number for each tenant."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        self._roads: OrderedDict[str, OrderedDict[str, _Road]] = OrderedDict()
        self._under_way = TasksBySegment()

    def take(self, request: Request, own_port: int, reply: Reply) -> None:
        """Forward the request and reply with its receiver's answer; refuse at once."""
        try:
            road = self._road(request, own_port)
        except ValueError as error:
            reply(answer_json(400, {"error": str(error)}))
            return
        if self._under_way.count(request.base) >= MAX_UNDER_WAY:
            reply(answer_json(503, {"error": f"{MAX_UNDER_WAY} requests are under way"}))
            return
        self._under_way.begin(request.base, self._carry(request, road, reply))

    async def close(self) -> None:
        """Cancel the requests under way."""
        await self._under_way.cancel()
        await self._outgoing.close()

    def _road(self, request: Request, own_port: int) -> _Road:
        key = request.target
        roads = self._roads.setdefault(request.base, OrderedDict())
        self._roads.move_to_end(request.base)
        if len(self._roads) > _MAX_TENANTS:
            self._roads.popitem(last=False)
        road = roads.get(key)
        if road is not None:
            roads.move_to_end(key)
            return road
        query = request.query
        if "to" not in query:
            raise ValueError("to is missing: /chaos?to=URL")
        seed = query.get("seed")
        road = roads[key] = _Road(
            url=forwarding_url(query["to"], self._outgoing, f"127.0.0.1:{own_port}{request.base}"),
            duplicate=share(query, "duplicate"),
            drop_answers=share(query, "drop_answers"),
            reorder=whole_number(query, "reorder", 0, (0, _MAX_REORDER)),
            hold_seconds=whole_number(query, "hold_ms", 1000, (1, _MAX_HOLD_MS)) / 1000,
            dice=random.Random(seed),  # noqa: S311 - repeatable trouble, not a secret
        )
        if len(roads) > MAX_ROADS:
            roads.popitem(last=False)
        return road

    async def _carry(self, request: Request, road: _Road, reply: Reply) -> None:
        # All dice fall before the first wait, so that a seed decides and not the network.
        twice = road.dice.random() < road.duplicate
        unanswered = road.dice.random() < road.drop_answers
        steps = road.dice.randint(0, road.reorder)
        road.overtake()
        if steps:
            await road.hold(steps)
        copies = [self._outgoing.forward(request, road.url) for _ in range(1 + twice)]
        first = (await asyncio.gather(*copies, return_exceptions=True))[0]
        trouble = [word for word, made in (("sent twice", twice), ("held back", steps)) if made]
        answer = _passed_back(first, ", ".join(trouble) or "none")
        reply(Answer(answer.status, hang_up=True) if unanswered else answer)


def _passed_back(result: Response | BaseException, trouble: str) -> Answer:
    headers: tuple[tuple[str, str], ...] = (("X-Receiver-Chaos", trouble),)
    if isinstance(result, DeliveryError):
        failed = answer_json(502, {"error": result.code, "message": result.message})
        return Answer(502, failed.body, headers=headers)
    if isinstance(result, ValueError):
        return answer_json(400, {"error": str(result)})
    if isinstance(result, BaseException):
        raise result
    given = {name.lower(): value for name, value in result.headers}
    headers += tuple((name, given[name]) for name in _PASSED_BACK if name in given)
    kind = given.get("content-type", "application/octet-stream")
    return Answer(result.status, result.body, kind, headers)
