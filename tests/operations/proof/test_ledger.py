from __future__ import annotations

import json
from pathlib import Path

from operations.proof.ledger import parse_records, read_arrivals

ENTRY = {
    "wall_ns": 5,
    "monotonic_ns": 6,
    "webhook_id": "e1",
    "task_id": "T1",
    "scheduled_for": "1970-01-01T00:00:01.500Z",
    "attempt": "2",
    "fencing_token": "77",
    "method": "POST",
    "path": "/ok",
    "body_sha256": "x",
    "signature_ok": None,
    "status": 200,
    "delay_ms": 3,
}


def test_lines_become_arrivals_and_others_are_kept_apart(tmp_path: Path):
    path = tmp_path / "ledger"
    lines = [ENTRY, {**ENTRY, "task_id": None}, {**ENTRY, "attempt": "x"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    arrivals, strangers = read_arrivals(path)

    assert len(strangers) == 2
    assert (arrivals[0].task_id, arrivals[0].at_ms, arrivals[0].token) == ("t1", 1500, 77)
    assert arrivals[0].succeeded
    assert arrivals[0].answered_ns == 3_000_005


def test_only_the_given_tasks_executions_are_records():
    execution = {
        "id": "e1",
        "task_id": "t1",
        "scheduled_for": "1970-01-01T00:00:01Z",
        "status": "SUCCEEDED",
        "reason": None,
        "attempt": 1,
        "start_delay_ms": 1.5,
    }

    found = parse_records([execution, {**execution, "task_id": "foreign"}], {"t1"})

    assert [(record.execution_id, record.at_ms) for record in found] == [("e1", 1000)]
