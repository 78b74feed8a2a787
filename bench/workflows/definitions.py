"""The workflows of the reports: bodies for the API, and what their steps wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Step = dict[str, Any]
ALL_DONE = "all_done"


def calls(key: str, url: str, *depends_on: str, **parts: Any) -> Step:
    """Return a step that calls a webhook."""
    target = {"kind": "webhook", "url": url, "method": "POST"}
    return {"key": key, "depends_on": list(depends_on), "target": target, **parts}


def workflow(name: str, steps: Sequence[Step], **parts: Any) -> dict[str, Any]:
    """Return a workflow that runs only when asked."""
    return {"name": name, "steps": list(steps), **parts}


def chain(url: str, length: int) -> dict[str, Any]:
    """Return a chain of this length: each step waits for the one before it."""
    steps = [calls("s1", url, payload={"step": 1})]
    for number in range(2, length + 1):
        steps.append(calls(f"s{number}", url, f"s{number - 1}", payload={"step": number}))
    return workflow(f"chain of {length}", steps)


def fan_out(url: str, max_parallel: int) -> dict[str, Any]:
    """Return a fan-out over the input, and a join that reads what all items have given."""
    load = calls("load", url, for_each="{{ input }}", max_parallel=max_parallel)
    load |= {"payload": {"item": "{{ item }}"}}
    join = calls("join", url, "load", when="steps.load.output.failed == 0")
    return workflow("fan-out", [load, join])


def ten_steps(url: str) -> dict[str, Any]:
    """Return ten steps: two fans of three with a join behind each, and a report."""
    steps = [
        calls("extract", url, payload={"step": "extract"}),
        *(calls(f"load{n}", url, "extract", payload={"part": n}) for n in range(3)),
        calls("check", url, "load0", "load1", "load2"),
        *(calls(f"publish{n}", url, "check", payload={"part": n}) for n in range(3)),
        calls("tidy", url, "publish0", "publish1", "publish2"),
        calls("report", url, "tidy", condition=ALL_DONE),
    ]
    return workflow("ten steps", steps)


def numbers(body: Mapping[str, Any]) -> dict[str, int]:
    """Return the number that the ledger gives each step of a new workflow, by key."""
    return {step["key"]: number for number, step in enumerate(body["steps"], start=1)}
