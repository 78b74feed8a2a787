from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import redis

from launcher.management.commands.run_recorder import _leave


@pytest.mark.logs("recorder.without_redis", reason="ConnectionError")
def test_a_recorder_ends_where_redis_is_away() -> None:
    def away() -> None:
        raise redis.ConnectionError

    recorder: Any = SimpleNamespace(stream=SimpleNamespace(leave=away))

    _leave(recorder)
