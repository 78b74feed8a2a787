"""How much of a destination may be claimed, and what bounds it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from executions.dispatch.circuits import Circuit
from wire.destination_key import CIRCUIT_OPEN, IN_FLIGHT, RATE
from worker.lanes import PATIENCE_SECONDS

#: Seconds until the next look at parked work that waits for nothing with a known end; work for
#: that time is sent ahead. More looks would cost other work more than they give.
LOOK_SECONDS = 1.0
#: Executions sent before they can start, so that no slot of a destination stays empty.
_AHEAD = 5
#: Work may wait in a worker for a slot of a rate that is nearer than this.
_NEAR_SECONDS = 1.5
_KEPT_SECONDS = 2.0


@dataclass(slots=True)
class Room:
    """How many more of a destination may be claimed, and the reason for that limit."""

    room: int
    why: str = IN_FLIGHT
    #: Seconds until the capacity may be larger.
    look_in: float = LOOK_SECONDS
    #: Whether it is a share of the slots, and no limit of the destination's own.
    of_slots: bool = False


def of_circuit(circuit: Circuit, queued: int) -> Room:
    """Return the capacity by a circuit that is not closed: none while it is open, then a probe."""
    if circuit.state == "open":
        return Room(0, CIRCUIT_OPEN, max(LOOK_SECONDS, circuit.open_until - circuit.now))
    return Room(0 if circuit.probe_until else max(0, 1 - queued), CIRCUIT_OPEN)


def of_rate(circuit: Circuit, rate: float, queued: int) -> Room:
    """Return the capacity by a rate: executions whose slot is near enough to wait in a worker."""
    away = circuit.next_slot - circuit.now
    if away > _NEAR_SECONDS:
        return Room(0, RATE, max(LOOK_SECONDS, away - _NEAR_SECONDS))
    return Room(math.ceil(rate * _KEPT_SECONDS) + 1 - queued, RATE)


def prefetch(circuit: Circuit) -> int:
    """Return how much to send ahead: the calls until work would be handed back, and a few more.

    Less than the calls between two looks would slow a quick destination down ever more.
    """
    return _AHEAD + math.ceil(circuit.per_second * PATIENCE_SECONDS)
