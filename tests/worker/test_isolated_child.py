from __future__ import annotations

import io
import os

import orjson
import pytest

from tests.support.entries import entry_of
from wire import outcomes
from worker import isolated_child


class _Stream:
    def __init__(self, data: bytes = b"") -> None:
        self.buffer = io.BytesIO(data)

    def flush(self) -> None:
        """Nothing is held back."""


def test_the_outcome_of_the_question_is_written(monkeypatch: pytest.MonkeyPatch):
    entry = entry_of("webhook", url="http://127.0.0.1:9/")
    question = {
        "entry": entry,
        "batch": {"offset": 0.0, "secrets": {entry["tenant"]: []}},
        "started": entry["scheduled_for"],
    }
    written = _Stream()
    monkeypatch.setattr("sys.stdin", _Stream(orjson.dumps(question)))
    monkeypatch.setattr("sys.stdout", written)
    # The test's own process must not be bound to its parent's thread.
    monkeypatch.setattr(isolated_child, "die_with_parent", lambda parent: None)

    assert isolated_child.main([str(os.getppid())]) == 0

    outcome = outcomes.decode(written.buffer.getvalue())
    assert (outcome["verb"], outcome["error_code"]) == ("failed", "address_forbidden")
