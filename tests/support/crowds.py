"""Calls of a crowd, each in a thread of its own, that gather where calls run together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from api import idempotency_groups
from tests.support.waiting import until


class Crowd:
    """Calls under way; each answer by the name of its call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: dict[str, Any] = {}
        self._threads: list[threading.Thread] = []
        self._waiting = 0
        wait = idempotency_groups._wait

        def counted(*arguments: Any) -> None:
            self._waiting += 1
            wait(*arguments)

        monkeypatch.setattr(idempotency_groups, "_wait", counted)

    def call(self, name: str, call: Callable[[], Any]) -> None:
        """Begin a call."""
        thread = threading.Thread(target=self._run, args=(name, call), daemon=True)
        self._threads.append(thread)
        thread.start()

    def gather(self, calls: dict[str, Callable[[], Any]]) -> None:
        """Begin calls one after the other, each once the one before waits for its group."""
        for name, call in calls.items():
            before = self._waiting
            self.call(name, call)
            until(lambda before=before: self._waiting > before)  # type: ignore[misc]  # of this turn

    def join(self) -> dict[str, Any]:
        """Wait for all answers, and return them; of a call that raised, its exception."""
        for thread in self._threads:
            thread.join(120)
            assert not thread.is_alive()
        return self.answers

    def _run(self, name: str, call: Callable[[], Any]) -> None:
        try:
            self.answers[name] = call()
        except BaseException as error:  # noqa: BLE001 - an answer of its own
            self.answers[name] = error
        finally:
            connections.close_all()
