"""The page of faults: each of the table with the result of its last stored run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.chaos.table import EXPERIMENTS

_HEAD = """\
# Faults that were injected, and what came of them

Written by `python -m bench.chaos --page` from the last stored run of each. `make chaos` injects all
of them, `python -m bench.chaos <id>` one. Under a steady load to a receiver that writes down every
request before it answers, each fault is injected and healed; then what arrived is matched one to
one with what had to.

Whatever the fault, nothing may be lost, early or surplus; doubled may be only what was in flight at
it, under the same idempotency key; what Punctual tells agrees with the receiver; and no invariant
of the ledger is broken.

| fault | how | beyond that | expected | missed | doubled (in flight) | latest start | result |
|---|---|---|---|---|---|---|---|
"""


def write(results: Path) -> str:
    """Return the page; a fault without a stored run says so."""
    runs = _last_runs(results)
    lines = [_line(one.fault, one.how, one.invariant, runs.get(one.id)) for one in EXPERIMENTS]
    return _HEAD + "\n".join(lines) + "\n"


def _last_runs(results: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(results.glob("*-chaos.json")):
        for one in json.loads(path.read_text(encoding="utf-8"))["experiments"]:
            found[one["id"]] = one
    return found


def _line(fault: str, how: str, invariant: str, run: dict[str, Any] | None) -> str:
    if run is None:
        return f"| {fault} | {how} | {invariant} | – | – | – | – | not run |"
    for key, words in (("could_not_run", "could not run"), ("broke_off", "broke off")):
        if key in run:
            return f"| {fault} | {how} | {invariant} | – | – | – | – | {words}: {run[key]} |"
    doubled = f"{run['duplicates']} ({run['in_flight_at_faults']})"
    latest = f"{run['latest_start_ms'] / 1000:.1f} s"
    result = "kept" if run["passed"] else "broken"
    return (
        f"| {fault} | {how} | {invariant} | {run['expected']} | {run['missed']} | {doubled} "
        f"| {latest} | {result} |"
    )
