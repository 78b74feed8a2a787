"""The API's answers do not change by a byte: a fixed installation asked everything, twice.

``--record FILE`` builds two tenants with tasks and executions in every state, on a PostgreSQL of
its own whose clock stands still, asks every GET of the OpenAPI document with each of its
parameters, and stores the answers. ``--compare FILE`` does the same and prints what differs. Exit
codes: 0 equal, 1 something differs, failed or was not asked, 2 could not run.
Run: ``python -m bench.answers --compare bench/results/answers.json.xz``.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench import command_line
from bench.answers import recording
from bench.answers.questions import Forgotten
from bench.answers.stand import standing
from bench.installation import CHECKOUT

_BESIDE = (":!bench", ":!tests", ":!docs", ":!*.md")


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.answers", description=__doc__)
    verb = parser.add_mutually_exclusive_group(required=True)
    verb.add_argument("--record", type=Path, metavar="FILE", help="store the answers")
    verb.add_argument("--compare", type=Path, metavar="FILE", help="print what differs from FILE")
    return parser.parse_args(arguments)


def taken() -> dict[str, Any]:
    """Return the recording of this checkout."""
    with standing():
        from django.test import Client
        from drf_spectacular.generators import SchemaGenerator

        from bench.answers.world import build

        tenants = build()
        document = SchemaGenerator().get_schema(request=None, public=True)
        made = recording.record(document, tenants, Client(raise_request_exception=False))
    counts = {name: rows.counts for name, rows in tenants.items()}
    return {"commit": product_commit(), "counts": counts, **made}


def product_commit() -> str:
    """Return the last commit that changed the product: neither a test, a bench nor a page."""
    command = ["git", "log", "-1", "--format=%h", "--", ".", *_BESIDE]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main(arguments: list[str]) -> int:
    """Record, or compare with a recording."""
    chosen = options(arguments)
    try:
        before = recording.load(chosen.compare) if chosen.compare else None
        after = taken()
    except (Forgotten, recording.Uncalled, recording.Broken) as error:
        print(error, file=sys.stderr)
        return 1
    counts = f"{len(after['answers'])} answers, {len(after['bodies'])} bodies, {after['counts']}"
    if before is None:
        recording.store(after, chosen.record)
        print(f"stored: {chosen.record}, {counts}")
        return 0
    found = recording.differences(before, after)
    print("\n".join(found))
    told = f"{before['commit']} and {after['commit']}"
    print(f"{len(found)} of {len(before['answers'])} answers differ between {told}; {counts}")
    return 1 if found else 0


if __name__ == "__main__":
    command_line.run(main)
