from __future__ import annotations

import json
from typing import Any

import pytest

from bench.peers.plan import Plan
from bench.workflows.peers import contenders
from bench.workflows.peers.contenders import CONTENDERS, BullMqFlows, CeleryCanvas, Dbos
from bench.workflows.peers.shapes import CHAIN, Runs


def test_a_name_belongs_to_one_contender():
    assert list(CONTENDERS) == ["punctual", "dbos", "celery-canvas", "bullmq-flows"]


def test_executors_of_dbos_have_names_of_their_own():
    names = [command[-1] for command in Dbos().workers().values()]

    assert len(names) == len(set(names)) == 2


def test_the_worker_of_the_canvas_is_that_of_the_other_report_with_another_application():
    [command] = CeleryCanvas().workers().values()

    assert command[command.index("--app") + 1] == "bench.workflows.peers.workers.canvas_app"
    assert "worker" in command


def test_flows_get_the_trees_of_their_shape(monkeypatch: pytest.MonkeyPatch):
    told: list[Any] = []
    monkeypatch.setattr(
        contenders, "run_script", lambda command, environment, said: told.append(json.loads(said))
    )

    BullMqFlows().schedule(Runs("http://127.0.0.1:1", 4, 1000, shape=CHAIN))

    assert told[0]["count"] == 4
    assert [tree["step"] for tree in told[0]["flows"]] == [9]
    with pytest.raises(ValueError, match="without a shape"):
        BullMqFlows().schedule(Plan("http://127.0.0.1:1", 4, 1000))
