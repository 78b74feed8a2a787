"""The page of capacity: what the next machine buys, by arithmetic from what was measured.

From the last stored runs of ``bench.costs`` and ``bench.idle``, and where there are any of
``bench.history`` and ``bench.machines``; a test holds the page to them.
Run: ``python -m bench.machines_capacity > docs/architecture/capacity.md``.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.costs import CREATE, PREPARE, RUN
from bench.installation import CHECKOUT
from shared.conf import Conf
from shared.web_pool import POOL

RESULTS = CHECKOUT / "bench" / "results"
#: How busy a core is planned to be: the rest is for bursts, and for what is not an execution.
BUSY = 0.7
_BUSY = f"{BUSY * 100:.0f} %"
_RATES = (1000, 5000, 10_000, 20_000)
_POSTGRESQL_CORES = (2, 4, 8, 16)
_OWN = ("scheduler", "worker", "recorder")
_SERVERS = ("postgresql", "valkey")
_NAMES = {"postgresql": "PostgreSQL", "valkey": "Valkey"}
#: Sessions of PostgreSQL by kind of process, at most.
_SESSIONS = {"scheduler": 2, "recorder": 2, "system-worker": 5, "worker": 0}
#: Of the embedded server, and of any with defaults; three are kept for administrators.
_MOST_SESSIONS = 100 - 3

Costs = dict[str, dict[str, float]]

_TITLE = "# Capacity: what the next machine buys\n"
_HEAD = (
    "Written by `python -m bench.machines_capacity` from the stored runs {sources}; a test holds "
    "this page to them. It is arithmetic, no measurement: microseconds of processor time ([what an "
    "execution costs](costs.md)) on a core of an {processor}, divided into a second. Repeat the "
    "runs on your machine before you buy another one. An execution is a webhook that is answered "
    "at once and recorded; a recurring one costs *prepare* and *run*, one of a task that is "
    "created for it by the bulk API *create*, too."
)
_NOT_SAID = (
    "Networks, disks and receivers: a slow receiver costs a slot of a worker (`WORKER_CAPACITY`), "
    "not its core; large payloads and answers cost more of everything. The costs are those of a "
    "backlog; work that comes a little at a time costs more for each, and leaves the cores idle "
    "all the same. Who wants to know runs [a storm](../howto/prove-it-with-a-storm.md) on the "
    "installation itself."
)


def write(results: Path) -> str:
    """Return the page; FileNotFoundError where nothing has been measured."""
    costs_file, idle_file = last(results, "costs"), last(results, "idle")
    found = _read(costs_file)
    costs = {name: stage["microseconds"] for name, stage in found["stages"].items()}
    sources = f"`{costs_file.name}` and `{idle_file.name}`"
    parts = [
        _TITLE,
        _prose(_HEAD.format(sources=sources, processor=found["machine"]["processor"])),
        _each_core(costs),
        _rates(costs),
        _servers(costs),
        _memory(_read(idle_file)),
        _sessions(),
        *_disk(results),
        *_measured(results),
        "## What this does not say\n",
        _prose(_NOT_SAID),
    ]
    return "\n".join(parts)


def last(results: Path, name: str) -> Path:
    """Return the last stored run of a report, in the directory or below."""
    found = sorted(results.rglob(f"*Z-{name}.json"), key=lambda path: path.name)
    if not found:
        raise FileNotFoundError(f"no stored run of {name} in {results}")
    return found[-1]


def recurring(costs: Costs, kind: str) -> float:
    """Return the microseconds of a kind for an execution of a task that is there already."""
    return costs[PREPARE].get(kind, 0.0) + costs[RUN].get(kind, 0.0)


def one_time(costs: Costs, kind: str) -> float:
    """Return the microseconds of a kind for an execution whose task is created for it."""
    return recurring(costs, kind) + costs[CREATE].get(kind, 0.0)


def _each_core(costs: Costs) -> str:
    rows = [
        (_NAMES.get(kind, kind), f"{us:.0f}", _number(1e6 / us))
        for kind in (*_OWN, *_SERVERS)
        for us in [recurring(costs, kind)]
    ]
    created = costs[CREATE]["web"]
    rows.append(("web, a task created in bulk", f"{created:.0f}", _number(1e6 / created)))
    return (
        "## What a core passes\n\n"
        + _table(("process", "µs an execution", "executions a second and core"), rows)
        + "\n"
        + _prose(
            "A scheduler, a worker, a recorder and a web process are one busy thread each: a "
            "process uses a core at most, and more cores are used by more processes."
        )
    )


def _rates(costs: Costs) -> str:
    rows = []
    for rate in _RATES:
        cells = [_number(rate)]
        for kind in (*_OWN, *_SERVERS):
            cores = rate * recurring(costs, kind) / 1e6
            several = f" ({math.ceil(cores / BUSY)})" if kind in _OWN else ""
            cells.append(f"{cores:.1f}{several}")
        rows.append(tuple(cells))
    kinds = tuple(_NAMES.get(kind, kind) for kind in (*_OWN, *_SERVERS))
    return (
        "## What a rate takes\n\n"
        + _prose(
            "Of recurring executions: cores that are busy, and in brackets the processes that "
            f"they are when each has {_BUSY} of its core to do."
        )
        + "\n"
        + _table(("executions a second", *kinds), rows)
    )


def _servers(costs: Costs) -> str:
    each, created = recurring(costs, "postgresql"), one_time(costs, "postgresql")
    own = sum(recurring(costs, kind) for kind in _OWN)
    rows = [
        (str(cores), _number(BUSY * cores * 1e6 / each), _number(BUSY * cores * 1e6 / created))
        for cores in _POSTGRESQL_CORES
    ]
    most = BUSY * 1e6 / recurring(costs, "valkey")
    buys = (
        f"A core of schedulers, workers and recorders passes {_number(1e6 / own)} executions a "
        f"second and needs {each / own:.2f} cores of PostgreSQL and "
        f"{recurring(costs, 'valkey') / own:.2f} of Valkey for them. So the next machine buys "
        f"something as long as PostgreSQL has {each / own:.2f} cores for each core of theirs. "
        "Then PostgreSQL is the limit, at"
    )
    beyond = (
        "More than two cores were not measured: locks and the write-ahead log may bind earlier. "
        f"Valkey runs its commands on one thread: {_number(most)} a second at {_BUSY} of its "
        f"core, which PostgreSQL reaches with {most * each / 1e6 / BUSY:.0f} cores. What lies "
        "beyond one PostgreSQL and one Valkey: [scale out](../howto/scale-out.md)."
    )
    head = (f"cores of PostgreSQL, {_BUSY} busy", "recurring a second", "one-time a second")
    return "\n".join(
        ("## When PostgreSQL is the limit\n", _prose(buys), _table(head, rows), _prose(beyond))
    )


def _memory(idle: dict[str, Any]) -> str:
    rows = [
        (_NAMES.get(kind, kind), str(count), f"{idle['memory_bytes'][kind] / 2**20:.0f}")
        for kind, count in idle["processes"].items()
        if kind not in ("supervisor", "receiver")
    ]
    return (
        "## Memory\n\n"
        + _prose(
            "MiB at rest under `up`, whose processes share the libraries: each counts for its part "
            "of what it shares, and one that is started alone takes about 40 more. A worker holds "
            f"at most {Conf().worker_hold_bytes / 2**20:.0f} MiB of work beside what is in flight."
        )
        + "\n"
        + _table(("kind", "processes", "MiB"), rows)
    )


def _sessions() -> str:
    web = POOL["max_size"]
    each = web + sum(_SESSIONS.values())
    pair = _SESSIONS["scheduler"] + _SESSIONS["recorder"]
    told = ", ".join(f"{kind} {count}" for kind, count in _SESSIONS.items())
    return "## Sessions of PostgreSQL\n\n" + _prose(
        f"At most: web {web} (its pool), {told}. A machine with one of each needs {each}: 100 "
        "sessions (`max_connections` unless changed, three of them reserved) are enough for "
        f"{_MOST_SESSIONS // each} such machines, or for one and {(_MOST_SESSIONS - each) // pair} "
        "more pairs of a scheduler and a recorder. A worker of Python handlers has those of the "
        "handlers, too."
    )


def _disk(results: Path) -> list[str]:
    try:
        found = _read(last(results, "history"))
    except FileNotFoundError:
        return []
    each = found["bytes"] / found["rows"]
    return [
        "## Disk\n",
        _prose(
            f"{each:.0f} bytes an execution with its indexes, where one of "
            f"{found['attempts_every']} has an attempt in the history; a thousand a second are "
            f"{each * 1000 * 86400 / 2**30:.0f} GiB a day. `RETENTION_DAYS` of them stay."
        ),
    ]


def _measured(results: Path) -> list[str]:
    try:
        found = _read(last(results, "machines"))
    except FileNotFoundError:
        return []
    return [
        "## Two machines beside one\n",
        _prose(
            "Measured by `python -m bench.machines`: two worked a backlog off "
            f"{found['speed_up']:.2f} times as fast as one, and an execution cost "
            f"{found['times_as_dear']:.2f} times as much processor time."
        ),
    ]


def _prose(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """Return a count to three digits, which is more than it is worth."""
    digits = max(0, len(str(int(value))) - 3)
    return f"{int(value) // 10**digits * 10**digits:,}"


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    print(write(RESULTS), end="")
