from __future__ import annotations

from bench.workflows.definitions import numbers, ten_steps
from bench.workflows.many import medians
from tests.support.step_calls import URL


def test_the_graph_has_ten_steps_that_name_only_steps_before_them():
    body = ten_steps(URL)
    places = numbers(body)

    assert len(places) == 10
    for step in body["steps"]:
        assert all(places[key] < places[step["key"]] for key in step["depends_on"])


def test_processor_time_is_that_of_all_processes():
    turn = {"seconds": 2.0, "steps_per_second": 5.0, "requests_per_second": 4.0}

    told = medians([{**turn, "cpu_us_each_step": {"worker": 10.0, "web": 1.5}}])

    assert told == {**turn, "cpu_us_each_step": 11.5}
