"""What Celery is used for, and what it must never be used for."""

from __future__ import annotations

import threading

import pytest
from celery import current_app
from kombu.exceptions import OperationalError
from kombu.serialization import dumps, loads

from executions.broker import DELIVER
from scheduler_site.celery import app


def test_only_json_is_accepted() -> None:
    assert set(app.conf.accept_content) == {"orjson", "json"}
    content_type, encoding, body = dumps({"due": 1.25, "name": "ü"}, serializer="orjson")

    assert (content_type, encoding) == ("application/x-orjson", "utf-8")
    assert loads(body, content_type, encoding, accept=[content_type]) == {
        "due": 1.25,
        "name": "ü",
    }


def test_our_functions_are_found_under_their_own_names() -> None:
    app.loader.import_default_modules()

    assert {DELIVER, "executions.keep_house"} <= set(app.tasks)


def test_queues_are_consumed_in_order_and_little_is_fetched_ahead() -> None:
    assert app.conf.broker_transport_options["queue_order_strategy"] == "priority"
    assert app.conf.worker_prefetch_multiplier == 1


def test_a_broker_that_comes_back_is_found_within_two_seconds(monkeypatch: pytest.MonkeyPatch):
    waits: list[float] = []
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda seconds: None)
    connection = app.connection_for_read("redis://127.0.0.1:1/0")

    with pytest.raises(OperationalError):
        connection.ensure_connection(lambda error, wait: waits.append(wait), max_retries=30)

    assert len(waits) == 30
    assert waits[0] < 0.5
    assert max(waits) == 2.0
    assert app.conf.broker_connection_max_retries is None


def test_nothing_depends_on_results_or_remote_control() -> None:
    assert app.conf.result_backend is None
    assert app.conf.task_ignore_result
    assert not app.conf.worker_enable_remote_control
    assert app.conf.beat_scheduler == "executions.beat:PunctualScheduler"


def test_every_thread_of_every_process_publishes_by_it() -> None:
    seen: list[object] = []

    thread = threading.Thread(target=lambda: seen.append(current_app._get_current_object()))
    thread.start()
    thread.join(20)

    assert seen == [app]
