"""The tests of random graphs, and of two parents that end at once, in as many rounds as asked for.

``graphs`` draws workflows and lets their steps end in any way and order, with crashes, pauses and
retries; an oracle that knows only the rules judges each run. ``joins`` lets the two parents of a
join end in two transactions at once: the join has to start once. Both are tests of the suite, with
fewer rounds; they need no installation.
Run: ``python -m bench.workflows graphs --count 5000`` and ``joins --rounds 10000``.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from typing import Any

from bench import command_line, report
from bench.installation import CHECKOUT, InstallationError

GRAPHS, JOINS = "graphs", "joins"
#: Part -> its test, and the variable that says how often.
TESTS = {
    GRAPHS: ("tests/workflows/test_random_graphs.py", "WORKFLOW_GRAPHS"),
    JOINS: (
        "tests/concurrency/test_workflow_race.py"
        "::test_two_parents_that_end_in_two_transactions_start_their_join_once",
        "WORKFLOW_ROUNDS",
    ),
}
_FAILED = 1
_SHOWN = 20
_ENDED = re.compile(r"^(FAILED|ERROR) (.*)$", re.MULTILINE)


def add_parsers(parsers: Any) -> None:
    """Add the options of both parts."""
    graphs = parsers.add_parser(GRAPHS, help="random graphs, judged by an oracle")
    graphs.add_argument("--count", type=command_line.above_zero, default=5000)
    joins = parsers.add_parser(JOINS, help="two parents that end at once")
    joins.add_argument("--rounds", dest="count", type=command_line.above_zero, default=10_000)
    for name, parser in ((GRAPHS, graphs), (JOINS, joins)):
        parser.add_argument("--jobs", type=command_line.above_zero, default=2)
        report.add_arguments(parser)
        parser.set_defaults(run=run, part=name)


def run(chosen: argparse.Namespace) -> int:
    """Run the test and publish; 1 where it failed, InstallationError where it could not run."""
    test, variable = TESTS[chosen.part]
    began = time.monotonic()
    how = ["-q", "-n", str(chosen.jobs), "--tb=short"]
    done = subprocess.run(
        # Most rounds are of the long tests.
        [sys.executable, "-m", "pytest", *how, "-m", "slow or not slow", test],
        cwd=CHECKOUT,
        env=os.environ | {variable: str(chosen.count)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, _FAILED):
        raise InstallationError(f"{test}: {done.stdout[-2000:]}{done.stderr[-1000:]}")
    wrong = [found[1] for found in _ENDED.findall(done.stdout)]
    seconds = time.monotonic() - began
    passed = done.returncode == 0
    figures = {
        "count": chosen.count,
        "seconds": round(seconds, 1),
        "problems": wrong,
        "passed": passed,
    }
    lines = [f"{chosen.count} {chosen.part} in {seconds:.0f} s", *wrong[:_SHOWN]]
    lines.append("PASSED" if passed else "FAILED")
    report.publish(f"workflows-{chosen.part}", figures, lines, chosen)
    return 0 if passed else 1
