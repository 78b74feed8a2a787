from __future__ import annotations

from celery import current_app, group

from bench.workflows.__main__ import options as head_to_head_options
from bench.workflows.peers.shapes import CHAIN, GRAPH, Runs
from bench.workflows.peers.workers.canvas_app import app, canvas, step


def calls(shape: str) -> list[object]:
    """Return the URLs of a run, those of a group as a list."""
    runs = Runs("http://127.0.0.1:1", 2, 1000, shape=shape)
    return [
        [call.args[0] for call in link.tasks] if isinstance(link, group) else link.args[0]
        for link in canvas(runs, 1).tasks
    ]


def url(digit: int) -> str:
    return f"http://127.0.0.1:1/hook/1{digit}"


def test_a_chain_has_a_task_for_each_step():
    assert calls(CHAIN) == [url(digit) for digit in range(10)]


def test_a_fan_is_a_group_that_a_task_follows():
    fans = [[url(digit) for digit in (1, 2, 3)], [url(digit) for digit in (5, 6, 7)]]

    assert calls(GRAPH) == [url(0), fans[0], url(4), fans[1], url(8), url(9)]


def test_a_task_is_acknowledged_when_it_has_run_and_its_result_is_kept():
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert not step.ignore_result


def test_messages_of_a_killed_worker_come_back_while_the_report_waits():
    options = app.conf.broker_transport_options
    patience = head_to_head_options(["peers"]).patience

    # Kombu looks every ten seconds, times the throttle.
    assert options["visibility_timeout"] + 10 * options["unacked_restore_throttle"] < patience


def test_the_task_is_none_of_the_product():
    assert "canvas.step" in app.tasks
    assert "canvas.step" not in current_app.tasks
