"""The workflow of the demo tenant: nine steps, among them a fan-out, an approval and a failure.

Pure data; :mod:`operations.demo` creates it and starts a run. Every step calls the built-in test
receiver. One branch fails, the other waits for a person: so the run shows both.
"""

from __future__ import annotations

from typing import Any

from operations.demo_tasks import LABEL

NAME = "Nightly figures"
#: The step that a person decides about, and the one that fails.
APPROVAL, FAILING = "approve", "archive"
_REGIONS = ("north", "east", "south", "west")
_TWICE = {"max_attempts": 2, "backoff": "fixed", "initial_delay_seconds": 3}
_A_DAY = 24 * 3600


def body(receiver_url: str) -> dict[str, Any]:
    """Return the definition, as the API takes it."""
    return {
        "name": NAME,
        "schedule": {"cron_expression": "0 2 * * *", "timezone": "Europe/Paris"},
        "on_failure": "continue",
        "deadline_seconds": 2 * _A_DAY,
        "labels": {LABEL: "live"},
        "steps": _steps(receiver_url.rstrip("/")),
    }


def _steps(base: str) -> list[dict[str, Any]]:
    return [
        _call("extract", f"{base}/ok", payload={"day": "{{ run.scheduled_for }}"}),
        _call("check", f"{base}/slow?ms=200", "extract"),
        _call(
            "load",
            f"{base}/slow?ms=300",
            "extract",
            for_each=list(_REGIONS),
            max_parallel=2,
            payload={"region": "{{ item }}", "number": "{{ index }}"},
        ),
        _call(
            "totals",
            f"{base}/ok",
            *("check", "load"),
            payload={"regions": "{{ steps.load.output.succeeded }}"},
        ),
        {"key": APPROVAL, "kind": "approval", "depends_on": ["totals"], "timeout_seconds": _A_DAY},
        _call(
            "publish",
            f"{base}/ok",
            APPROVAL,
            payload={"approved_by": "{{ steps.approve.output.approved_by }}"},
        ),
        _call(FAILING, f"{base}/500", "totals", retry_policy=_TWICE),
        _call("tidy", f"{base}/ok", FAILING, condition="one_failed"),
        _call(
            "report",
            f"{base}/ok",
            *("publish", "tidy"),
            condition="all_done",
            payload={"published": "{{ steps.publish.status }}"},
        ),
    ]


def _call(key: str, url: str, *depends_on: str, **parts: Any) -> dict[str, Any]:
    target = {"url": url, "timeout_seconds": 10}
    return {"key": key, "depends_on": list(depends_on), "target": target, **parts}
