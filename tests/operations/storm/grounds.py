"""What runs below a storm, made up."""

from __future__ import annotations

from typing import Any


def process(kind: str, name: str, pid: int | None = 11, **changes: Any) -> dict[str, Any]:
    return {"kind": kind, "name": name, "pid": pid, "restarts": 0, "started_at": 1.0, **changes}


def runtime(**changes: Any) -> dict[str, Any]:
    return {
        "local_url": "http://127.0.0.1:8000",
        "receiver_url": "http://127.0.0.1:8001/",
        "redis_url": "redis://127.0.0.1:1",
        "webhook_allowed_networks": "127.0.0.1/32:8001",
        "processes": [
            process("web", "web-1"),
            process("scheduler", "scheduler-1"),
            process("worker", "worker-1"),
            process("worker", "worker-handlers-1"),
            process("valkey", "valkey", None),
        ],
        **changes,
    }
