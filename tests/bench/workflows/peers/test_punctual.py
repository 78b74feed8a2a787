from __future__ import annotations

import json

from bench.peers.plan import BODY_BYTES
from bench.workflows.peers.punctual import workflow
from bench.workflows.peers.shapes import CHAIN, GRAPH, Runs


def test_each_step_calls_the_number_of_its_run_and_of_itself():
    made = workflow(Runs("http://127.0.0.1:1", 1, 1000, shape=GRAPH))
    steps: list[dict[str, dict[str, str]]] = made["steps"]  # type: ignore[assignment]  # of a body

    urls = [step["target"]["url"].replace("{{ input.run }}", "12") for step in steps]

    assert urls == [f"http://127.0.0.1:1/hook/12{digit}" for digit in range(10)]


def test_each_step_sends_as_much_as_those_of_the_peers():
    steps = workflow(Runs("http://127.0.0.1:1", 1, 1000, shape=CHAIN))["steps"]

    for step in steps:  # type: ignore[attr-defined]  # a list
        assert len(json.dumps(step["payload"], separators=(",", ":"))) == BODY_BYTES
