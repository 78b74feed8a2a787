"""How long every filter and every order of lists takes on ten million executions of thirty days.

The questions are made of the fields and orders that the product declares, so a new one is asked as
well: each of a day, and each of all days. Targets: a first page under 200 ms, a filter or an order
under a second at p95 over HTTP, or the refusal ``window_too_wide`` with its advice, after two
seconds. Run: ``python -m bench.lists --start`` (``--rows 1000000``).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from bench import command_line, installation, report
from bench.history import Asker
from bench.history_rows import Wanted, fill
from bench.members import enter
from operations.proof.percentiles import distribution

FIRST_MS, FILTERED_MS = 200.0, 1000.0
#: The statement's two seconds, and what is around it.
REFUSED_MS = 2500.0
_REFUSAL = "window_too_wide"
#: A question that takes this long is asked three times only.
_SLOW_MS = 1500.0

#: One in fifty fails, one in a hundred is retried, one in two hundred starts late, one in fifty
#: takes over 30 s; ten hosts, twenty workers.
MIXED = """
INSERT INTO {table} (id, tenant_id, task_id, partition, priority, pool, destination, revision,
    status, reason, trigger, scheduled_for, due_at, queued_at, started_at, finished_at,
    start_delay_ms, attempt, max_attempts, lost_count, timeout_seconds, incarnation, worker, held,
    response_status, error_code, error_message)
SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0')
        || '8000' || '8' || lpad(to_hex(n), 15, '0'))::uuid,
    %(tenant)s, tasks.id, tasks.partition, 5, 'default', 'host-' || n %% 10 || '.example.com', 1,
    CASE WHEN n %% 50 = 0 THEN 'FAILED' ELSE 'SUCCEEDED' END,
    CASE WHEN n %% 50 = 0 THEN 'attempts_exhausted' ELSE '' END,
    CASE WHEN n %% 1000 = 1 THEN 'manual' ELSE 'schedule' END, at, at, at,
    at + delay * interval '1 millisecond',
    at + delay * interval '1 millisecond' + took * interval '1 millisecond',
    delay, CASE WHEN n %% 100 = 0 THEN 5 ELSE 1 END,
    5, 0, 30, '', 'worker@host-' || n %% 20 || ':7', false,
    CASE WHEN n %% 50 = 0 THEN 503 ELSE 200 END,
    CASE WHEN n %% 50 = 0 THEN 'http_status' ELSE '' END,
    CASE WHEN n %% 50 = 0 THEN 'The answer was 503.' ELSE '' END
FROM (
    SELECT n, %(start)s::timestamptz + n * interval '86399 seconds' / %(count)s AS at,
        CASE WHEN n %% 200 = 3 THEN 1500 + n %% 977 ELSE 2 + n %% 37 END AS delay,
        CASE WHEN n %% 50 = 7 THEN 31000 + n %% 4999 ELSE 20 + n %% 613 END AS took
    FROM generate_series(0, %(count)s - 1) AS n
) AS r
JOIN (
    SELECT id, partition, row_number() OVER (ORDER BY id) AS number FROM tasks
    WHERE tenant_id = %(tenant)s
) AS tasks ON tasks.number = (r.n::bigint * 7919) %% %(tasks)s + 1
"""


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=5, help="requests of each question")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def questions(day: str) -> Iterator[tuple[str, str]]:
    """Yield every filter and every order, of a day and of all days: a name and a path."""
    from insight.filter_language.fields import EXECUTIONS
    from insight.list_orders import EXECUTION_ORDERS

    texts = [
        "Report 77",
        "-nothing",
        'task:"Report 7*"',
        "label:team:team-7",
        "host:host-3.example.com",
    ]
    for field in EXECUTIONS.fields.values():
        texts += [field.example, *(f"{field.name}:{word}" for word in field.listed)]
        texts += [f"{field.name}:{example}" for example in field.kind.examples]
    for text in dict.fromkeys(texts):
        yield f"{text}, all days", _api(filter=text)
        if "scheduled" not in text:
            yield f"{text}, a day", _api(filter=f"{text} scheduled:{day}")
    for name in EXECUTION_ORDERS:
        yield f"by {name}, all days", _api(ordering=name)
        yield f"by {name}, a day", _api(ordering=name, filter=f"scheduled:{day}")
    yield "console: a day", "/executions"
    for query in (
        {"filter": "delay:>1s", "ordering": "-delay"},
        {"filter": f"http:5xx scheduled:{day}"},
        {"window": "any", "filter": "duration:>30s"},
    ):
        yield f"console: {' '.join(query.values())}", f"/executions?{urlencode(query)}"


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Fill the ledger, ask, publish; 1 when a question is over its target."""
    enter(product)
    begun = time.monotonic()
    history = fill(Wanted(chosen.rows, chosen.days, chosen.tasks, 0), MIXED)
    filled = time.monotonic() - begun
    asker = Asker(product.base_url, history)
    found = {}
    for name, path in questions(f"{history.middle:%Y-%m-%d}"):
        found[name] = {"path": path, **_time(asker, path, chosen.repeat)}
    missed = missed_targets(found)
    refused = sum(figures["refused"] for figures in found.values())
    figures = {
        "rows": chosen.rows,
        "days": chosen.days,
        "bytes": history.bytes,
        "fill_seconds": round(filled, 1),
        "questions": found,
        "refused": refused,
        "targets_missed": missed,
        "passed": not missed,
    }
    report.publish("lists", figures, _lines(chosen, found, missed), chosen)
    return 1 if missed else 0


def missed_targets(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each question over its target, or answered with another status."""
    lines = []
    for name, figures in found.items():
        limit = FILTERED_MS
        if figures["refused"]:
            limit = REFUSED_MS
        elif name == "console: a day":
            limit = FIRST_MS
        if figures["errors"]:
            lines.append(f"not answered: {name}, {figures['errors']} of {figures['count']:g}")
        elif figures["p95"] >= limit:
            lines.append(f"target missed: {name}, p95 {figures['p95']:.0f} ms, not under {limit:g}")
    return lines


def _time(asker: Asker, path: str, repeat: int) -> dict[str, Any]:
    """Return how long the answers took, how many refused with advice, and how many were none."""
    taken: list[float] = []
    errors = refused = 0
    while len(taken) < (3 if taken and taken[0] > _SLOW_MS else repeat):
        begun = time.perf_counter()
        status, body = asker.get(path)
        taken.append(1000 * (time.perf_counter() - begun))
        is_refusal = _REFUSAL.encode() in body or b"over two seconds" in body
        refused += is_refusal
        errors += status != 200 and not is_refusal
    return {**distribution(taken).as_json(), "errors": errors, "refused": refused}


def _api(**query: str) -> str:
    return f"/v1/executions?{urlencode(query)}"


def _lines(
    chosen: argparse.Namespace, found: Mapping[str, Mapping[str, Any]], missed: list[str]
) -> list[str]:
    return [
        f"{chosen.rows} executions of {chosen.days} days, {chosen.repeat} requests each",
        *(
            f"{name:58} p50 {f['p50']:7.1f}  p95 {f['p95']:7.1f} ms"
            + ("  refused with advice" if f["refused"] else "")
            for name, f in found.items()
        ),
        *missed,
        "FAILED" if missed else "PASSED",
    ]


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    installation.require_start(chosen)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
