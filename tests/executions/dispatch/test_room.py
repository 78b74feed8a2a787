from __future__ import annotations

import pytest

from executions.dispatch.circuits import Circuit
from executions.dispatch.room import LOOK_SECONDS, Room, of_circuit, of_rate, prefetch
from wire.destination_key import CIRCUIT_OPEN, RATE


def test_an_open_circuit_has_no_room_until_it_ends():
    assert of_circuit(Circuit(100.0, open_until=130.0), 0) == Room(0, CIRCUIT_OPEN, 30.0)
    soon = of_circuit(Circuit(100.0, open_until=100.1), 0)
    assert (soon.room, soon.look_in) == (0, LOOK_SECONDS)


@pytest.mark.parametrize(
    ("queued", "probing", "room"), [(0, False, 1), (1, False, 0), (0, True, 0)]
)
def test_a_half_open_circuit_has_room_for_its_probe(queued: int, probing: bool, room: int):
    probe_until = 105.0 if probing else 0.0
    circuit = Circuit(100.0, open_until=99.0, probe_until=probe_until)

    assert of_circuit(circuit, queued) == Room(room, CIRCUIT_OPEN)


def test_of_a_rate_work_for_two_seconds_may_wait_in_workers():
    assert of_rate(Circuit(100.0, next_slot=101.0), 2.5, 3) == Room(3, RATE)


def test_a_rate_whose_next_slot_is_far_away_has_no_room_until_it_is_near():
    assert of_rate(Circuit(100.0, next_slot=110.0), 2.5, 0) == Room(0, RATE, 8.5)


def test_a_few_more_are_sent_ahead_than_a_destination_takes_meanwhile():
    assert prefetch(Circuit(100.0)) == 5
    assert prefetch(Circuit(100.0, recent=200)) > 5
