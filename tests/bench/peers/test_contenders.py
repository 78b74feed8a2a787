from __future__ import annotations

from bench.peers import install
from bench.peers.contenders import BURST, CONTENDERS, SCENARIOS, STEADY, THROUGHPUT
from bench.peers.node_peers import NodePeer


def test_punctual_and_its_limit_take_part_in_every_scenario():
    for names in SCENARIOS.values():
        assert {"punctual", "raw"} <= set(names)


def test_only_contenders_with_due_times_are_in_burst_and_steady():
    for scenario in (BURST, STEADY):
        assert all(CONTENDERS[name].timed for name in SCENARIOS[scenario])


def test_celery_from_a_full_queue_is_compared_in_throughput():
    assert "celery" in SCENARIOS[THROUGHPUT]


def test_every_peer_on_node_has_its_script():
    peers = [one for one in CONTENDERS.values() if issubclass(one, NodePeer)]

    assert peers
    for one in peers:
        assert (install.NODE_SOURCES / f"{one.name}.mjs").is_file()
