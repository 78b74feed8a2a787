"""How long lists, searches, statistics and pages take on ten million executions of thirty days.

Targets: a first page under 200 ms, a filtered one under a second, at p95 over HTTP. Run:
``python -m bench.history --start``. With ``--drop-under-load`` instead: whole days are dropped
while 100 executions a second start; their start delay may move by less than a tenth at p99.
"""

from __future__ import annotations

import argparse
import http.client
import json
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from bench import command_line, history_drop, installation, report
from bench.history_rows import History, Wanted, fill
from bench.members import enter
from operations.proof.percentiles import distribution

#: Kind of question -> most milliseconds at p95.
TARGETS_MS = {"first": 200.0, "filtered": 1000.0}
#: A question that takes this long is asked three times only.
_SLOW_MS = 5000.0
_DAY = timedelta(days=1)
_PATIENCE_SECONDS = 90.0
#: Kind, description, path.
Question = tuple[str, str, str]


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument(
        "--attempts-every",
        type=int,
        default=10,
        help="one execution in this many has an attempt; 1: all",
    )
    parser.add_argument("--repeat", type=int, default=20, help="requests of each question")
    history_drop.add_arguments(parser)
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Fill the ledger, ask, publish; 1 when a question is over its target."""
    enter(product)
    begun = time.monotonic()
    history = fill(Wanted(chosen.rows, chosen.days, chosen.tasks, chosen.attempts_every))
    filled = time.monotonic() - begun
    if chosen.drop_under_load:
        return history_drop.measure(product, chosen, history)
    asker = Asker(product.base_url, history)
    found = {}
    for kind, name, path in (*api_questions(history, asker), *console_questions(history, asker)):
        found[name] = {"kind": kind, "path": path, **asker.time(path, chosen.repeat)}
    missed = missed_targets(found)
    figures = {
        "rows": chosen.rows,
        "days": chosen.days,
        "attempts_every": chosen.attempts_every,
        "bytes": history.bytes,
        "fill_seconds": round(filled, 1),
        "questions": found,
        "targets_missed": missed,
        "passed": not missed,
    }
    report.publish("history", figures, _lines(chosen, history, found, missed), chosen)
    return 1 if missed else 0


def missed_targets(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return a line for each question over the target of its kind, or not answered with 200."""
    lines = []
    for name, figures in found.items():
        limit = TARGETS_MS[figures["kind"]]
        if figures["errors"]:
            lines.append(f"not answered: {name}, {figures['errors']} of {figures['count']:g}")
        elif figures["p95"] >= limit:
            lines.append(f"target missed: {name}, p95 {figures['p95']:.0f} ms, not under {limit:g}")
    return lines


class Asker:
    """Asks the installation over HTTP, each time by a new connection, as a member.

    A page of the console as a browser asks for it: a program gets the API's answers there.
    """

    def __init__(self, base_url: str, history: History) -> None:
        address = urlsplit(base_url)
        self._host, self._port = address.hostname or "", address.port
        self._program = {"Authorization": f"Bearer {history.member.api_key}"}
        self._browser = {
            "Accept": "text/html",
            "Cookie": f"sessionid={history.member.session}",
        }

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=_PATIENCE_SECONDS)
        try:
            headers = self._program if path.startswith("/v1/") else self._browser
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def document(self, path: str) -> Any:
        """Return what the API answers; InstallationError for anything but 200."""
        status, body = self.get(path)
        if status != 200:
            raise installation.InstallationError(f"{path} answered {status}: {body[:300]!r}")
        return json.loads(body)

    def time(self, path: str, repeat: int) -> dict[str, Any]:
        """Return how long the answers took, and how many were none."""
        taken: list[float] = []
        errors = 0
        # The first request warms templates and caches; it is held to the target as well.
        while len(taken) < (3 if taken and taken[0] > _SLOW_MS else repeat):
            begun = time.perf_counter()
            try:
                errors += self.get(path)[0] != 200
            except OSError:
                errors += 1
            taken.append(1000 * (time.perf_counter() - begun))
        return {**distribution(taken).as_json(), "errors": errors}


def api_questions(history: History, asker: Asker) -> Iterator[Question]:
    """Yield what is asked of the REST API."""
    task = str(history.task)
    day = _between(history, history.middle + _DAY)
    yield "first", "executions, newest first", _list()
    yield "first", "deep: by cursor from the middle", _deep(history, asker)
    yield "first", "one execution of the middle", _one(history, asker)
    yield "filtered", "status FAILED, one in fifty", _list(status="FAILED")
    yield "filtered", "status CANCELLED, none at all", _list(status="CANCELLED")
    yield "filtered", "status RUNNING, none at all", _list(status="RUNNING")
    yield "filtered", "of one task", _list(task=task)
    yield "filtered", "of one task, failed", _list(task=task, status="FAILED")
    yield "filtered", "a day of the middle", _list(**day)
    yield "filtered", "a day of the middle, failed", _list(**day, status="FAILED")
    yield "filtered", "the last half of the days", _list(since=_instant(history.middle))
    yield "filtered", "search for the name of a task", _list(q="Report 77")
    yield "filtered", "search for a label", _list(q="team-7")
    yield "filtered", "search for an error", _list(q="503")
    yield "filtered", "search for nothing that is", _list(q="nothing of the kind")
    yield "filtered", "search a day of the middle", _list(**day, q="Report 77")
    yield "filtered", "a pool without executions", _list(pool="nowhere")
    yield "filtered", "a day in the order of due times", _list(**day, ordering="-due_at")
    yield "filtered", "statistics: overview", "/v1/overview"
    yield "filtered", "statistics: a day by minutes", "/v1/stats/throughput?minutes=1440"


def console_questions(history: History, asker: Asker) -> Iterator[Question]:
    """Yield the pages of the console that show history."""
    task = str(history.task)
    yield "first", "console: overview", "/"
    yield "first", "console: executions of a day", "/executions"
    yield "first", "console: executions of 30 days", "/executions?window=30d"
    yield "first", "console: one execution", _one(history, asker).removeprefix("/v1")
    yield "filtered", "console: failed, 30 days", "/executions?window=30d&status=FAILED"
    yield "filtered", "console: of one task, 30 days", f"/executions?window=30d&task={task}"
    yield "filtered", "console: search, 30 days", "/executions?window=30d&q=Report+77"
    yield "filtered", "console: tasks with their runs", "/tasks"
    yield "filtered", "console: one task", f"/tasks/{task}"


def _deep(history: History, asker: Asker) -> str:
    """Return the page that follows the middle, by a cursor that the API has given."""
    first = asker.document(_list(until=_instant(history.middle), limit="1"))
    return _list(cursor=first["pagination"]["next_cursor"])


def _one(history: History, asker: Asker) -> str:
    found = asker.document(_list(until=_instant(history.middle), limit="1"))
    return f"/v1/executions/{UUID(found['executions'][0]['id'])}"


def _between(history: History, end: Any) -> dict[str, str]:
    return {"since": _instant(history.middle), "until": _instant(end)}


def _instant(moment: Any) -> str:
    from shared.instants import format_instant

    return format_instant(moment)


def _list(**query: str) -> str:
    return f"/v1/executions?{urlencode(query)}" if query else "/v1/executions"


def _lines(
    chosen: argparse.Namespace, history: History, found: dict[str, Any], missed: list[str]
) -> list[str]:
    size = history.bytes / 2**30
    about = f"{chosen.rows} executions of {chosen.days} days ({size:.1f} GiB with their attempts)"
    return [
        f"{about}, {chosen.repeat} requests each",
        *(
            f"{name:36} p50 {f['p50']:7.1f}  p95 {f['p95']:7.1f}  max {f['max']:7.1f} ms"
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
