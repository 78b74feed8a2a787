"""Heartbeats as workers write them, and their end."""

from __future__ import annotations

import time
from typing import Any

import orjson

from shared.redis_client import WORKER_INFO_KEY, WORKERS_KEY, client
from wire.heartbeats import beat_script


def beat(name: str, **details: Any) -> None:
    description = orjson.dumps({"pool": "default", "slots": 4, "hold": 10, **details})
    client().eval(beat_script(), 2, WORKERS_KEY, WORKER_INFO_KEY, name, description)


def silence(name: str, seconds: float) -> None:
    client().zadd(WORKERS_KEY, {name: time.time() - seconds})
