"""The page of faults: each of the table with the result of its last stored run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.chaos.table import EXPERIMENTS

_HEAD = """\
# Faults that were injected, and what came of them

Written by `python -m bench.chaos --page` from the stored runs; the figures are of the last one.
`make chaos` injects all of them, `python -m bench.chaos <id>` one. Under a steady load to a
receiver that writes down every request before it answers, each fault is injected and healed; then
what arrived is matched one to one with what had to.

After every fault no execution may be lost, early or surplus. Only requests in flight at it may be
doubled, under the same idempotency key. Punctual's records agree with the receiver, and no
invariant of the ledger is broken.

| fault | how | beyond that | runs | expected | missed | doubled (in flight) | latest | result |
|---|---|---|---|---|---|---|---|---|
"""


#: Where the table begins.
_TABLE = "| fault | how |"
_WORKFLOWS = """\
Beside the faults that are marked (w), runs of workflows went on: each had to end as its policy
says, no step might start before those that it depends on had ended, and none run twice unless a
fault had kept its outcome from being recorded.

"""


_STORMS = """
## Storms

`manage.py storm`: two schedulers, workers and recorders under load, and something dies every ten to
twenty seconds, for the time that it is given. Stored by its `--json`; the slowest is the
takeover after any strike.

| day | min | rate | strikes | expected | missed | early | doubled (in flight) | slowest | result |
|---|---|---|---|---|---|---|---|---|---|
"""


def write(results: Path) -> str:
    """Return the page; a fault without a stored run says so."""
    runs = _runs(results)
    lines = [_line(one.fault, one.how, one.invariant, runs.get(one.id, ())) for one in EXPERIMENTS]
    beside = any(told[-1].get("workflows") for told in runs.values())
    head = _HEAD.replace(_TABLE, _WORKFLOWS + _TABLE) if beside else _HEAD
    page = head + "\n".join(lines) + "\n"
    storms = [_storm(path) for path in sorted(results.glob("*-storm.json"))]
    return page + _STORMS + "\n".join(storms) + "\n" if storms else page


def _storm(path: Path) -> str:
    told = json.loads(path.read_text(encoding="utf-8"))
    struck = Counter(strike["kind"] for strike in told["strikes"])
    strikes = ", ".join(f"{count} {kind}" for kind, count in sorted(struck.items()))
    doubled = f"{told['duplicate']} ({told['in_flight_at_strikes']})"
    result = "kept" if told["kept"] else "broken: " + "; ".join(told["broken"])
    figures = (
        path.name[:10],
        f"{told['seconds'] / 60:g}",
        told["rate"],
        strikes,
        told["expected"],
        told["missed"],
        told["early"],
        doubled,
        f"{told['slowest_takeover_seconds']} s",
        result,
    )
    return f"| {' | '.join(str(figure) for figure in figures)} |"


def _runs(results: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the stored runs of each fault, the oldest first."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(results.glob("*-chaos.json")):
        for one in json.loads(path.read_text(encoding="utf-8"))["experiments"]:
            found.setdefault(one["id"], []).append(one)
    return found


def _line(fault: str, how: str, invariant: str, runs: Sequence[dict[str, Any]]) -> str:
    if not runs:
        return f"| {fault} | {how} | {invariant} | 0 | – | – | – | – | not run |"
    last = runs[-1]
    marked = f"{fault} (w)" if last.get("workflows") else fault
    said = f"| {marked} | {how} | {invariant} | {len(runs)} |"
    for key, words in (("could_not_run", "could not run"), ("broke_off", "broke off")):
        if key in last:
            return f"{said} – | – | – | – | {words}: {last[key]} |"
    doubled = f"{last['duplicates']} ({last['in_flight_at_faults']})"
    latest = f"{last['latest_start_ms'] / 1000:.1f} s"
    result = "kept" if last["passed"] else "broken"
    return f"{said} {last['expected']} | {last['missed']} | {doubled} | {latest} | {result} |"
