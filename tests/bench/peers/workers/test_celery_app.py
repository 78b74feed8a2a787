from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from celery import current_app

from bench.peers.workers.celery_app import app, call_task, hold, release


def test_the_task_has_the_name_by_which_entries_of_beat_call_it():
    assert call_task.name == "peers.call"
    assert "peers.call" in app.tasks
    assert "peers.call" not in current_app.tasks


def test_no_results_are_kept_and_etas_stay_below_the_visibility_timeout():
    assert app.conf.task_ignore_result
    assert app.conf.broker_transport_options["visibility_timeout"] == 3600


@pytest.mark.parametrize(("verb", "asked"), [(hold, "cancel_consumer"), (release, "add_consumer")])
def test_a_worker_that_does_not_answer_is_not_taken_for_one_that_obeys(
    monkeypatch: pytest.MonkeyPatch, verb: Callable[[], list[Any]], asked: str
):
    replies: list[Any] = []
    queues: list[str] = []

    def broadcast(queue: str, **_: object) -> list[Any]:
        queues.append(queue)
        return replies

    monkeypatch.setattr(app.control, asked, broadcast)
    with pytest.raises(RuntimeError, match="no worker answers"):
        verb()

    replies.append({"celery@here": {"ok": "done"}})
    assert verb() == replies
    assert queues == ["celery", "celery"]
