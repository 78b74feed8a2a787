from __future__ import annotations

import json
from datetime import UTC, datetime

from bench.worker_cpu import arrived, claimed, lines_of, main, make_key, options, wire
from scheduler_site.celery import app


def test_a_message_comes_through_the_brokers_envelope():
    rows = claimed(3, 8001, datetime(2027, 1, 1, tzinfo=UTC))

    (sent,) = wire(rows, key := make_key())

    with app.connection("memory://") as connection:
        batch = arrived(connection.channel(), sent)
    assert list(batch["keys"].values()) == [[key]]
    assert [entry["token"] for entry in batch["executions"]] == [1, 2, 3]
    assert batch["executions"][0]["url"] == "http://127.0.0.1:8001/hook/0"


def test_the_best_and_the_middle_round_are_told():
    told = [
        {"microseconds": each, "message_bytes": 600.0, "outcome_bytes": 500.0}
        for each in (70.0, 50.0, 60.0)
    ]

    (line,) = lines_of({"here": told})

    assert line == "here   best   50.0 µs, median   60.0 µs; message 600 B, outcome 500 B"


def test_another_checkout_is_named_by_its_path(tmp_path):
    assert options(["--other", str(tmp_path)]).other == tmp_path


def test_a_round_runs_through_without_a_database(tmp_path):
    done = main(["--count", "100", "--rounds", "1", "--results", str(tmp_path)])

    [stored] = [json.loads(path.read_text()) for path in tmp_path.iterdir()]
    assert done == 0
    assert stored["rounds"]["here"][0]["microseconds"] > 0
