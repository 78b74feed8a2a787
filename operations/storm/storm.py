"""A whole storm: a scratch tenant, its load, the strikes, the wait for quiet, and the findings.

The load calls only the API of the running installation, and repeats a call with its idempotency key
while a server is away. The judge reads the receiver's ledger.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from executions.loop import refusals
from operations.proof.campaign import Campaign, Receiver
from operations.proof.client import ApiClient, ApiError
from operations.proof.oracle import Planned
from operations.proof.workload import Window, stormy
from operations.storm.findings import Findings
from operations.storm.ground import Ground
from operations.storm.order import Order
from operations.storm.scratch import Scratch
from operations.storm.takeover import takeovers
from operations.storm.weather import Weather, faults
from shared.exceptions import PunctualError, Unavailable

#: A call is repeated for about two minutes.
_TRIES = 40
#: How long everything may take to be ready beforehand.
_READY_SECONDS = 30.0


class StormFailed(PunctualError):
    """The storm could not continue."""

    code = "storm_failed"
    status = 500


def run_storm(
    ground: Ground, order: Order, scratch: Scratch, say: Callable[[str], None]
) -> Findings:
    """Run the storm on the scratch tenant.

    Raise Unavailable if not everything runs at the start, StormFailed if the load breaks off.
    """
    weather = Weather(ground, order, say, refusals.read)
    first: BaseException | None = None
    try:
        return asyncio.run(_pass(ground, order, scratch, weather))
    except* (ApiError, OSError, EOFError) as group:
        first = group.exceptions[0]
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
    # Outside: before 3.11.4, Python wraps every exception raised in there in a group.
    raise StormFailed(f"The storm broke off: {str(first) or type(first).__name__}") from first


async def _pass(ground: Ground, order: Order, scratch: Scratch, weather: Weather) -> Findings:
    if not await ground.until_recovered(_READY_SECONDS):
        raise Unavailable("Not everything runs; see `manage.py ps` and `manage.py doctor`.")

    def plan(window: Window) -> list[Planned]:
        return stormy(window, order.rate)

    receiver = Receiver(f"{ground.receiver_url.rstrip('/')}/{scratch.path}", scratch.ledger)
    async with ApiClient(ground.local_url, scratch.api_key, tries=_TRIES) as client:
        outcome = await Campaign(client, receiver, plan, weather).run(order.seconds)
    return Findings(
        order,
        outcome,
        faults(weather.strikes),
        takeovers(weather.strikes, outcome.targets, outcome.arrivals),
        weather.refused,
        weather.recovered,
    )
