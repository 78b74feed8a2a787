"""A supervisor with small children of its own, run as a program by the supervisor's tests.

``python -m tests.support.supervised PROGRAM...`` runs each PROGRAM with ``sh -c`` under the kinds
kind-1, kind-2, ... and prints each log line to standard output; kinds drain in that order.
"""

from __future__ import annotations

import asyncio
import os
import sys

from launcher.spawning import ProcessSpec
from launcher.supervisor import Stage, Supervisor


def main() -> None:
    """Run the programs until a signal ends them."""
    specs = [
        ProcessSpec(
            kind=f"kind-{number}",
            name=f"child-{number}",
            argv=("/bin/sh", "-c", program),
            environment=dict(os.environ),
            grace_seconds=60.0,
        )
        for number, program in enumerate(sys.argv[1:], start=1)
    ]
    order = [(spec.kind,) for spec in specs]
    supervisor = Supervisor([Stage("all", specs)], order, _print)
    asyncio.run(supervisor.run())


def _print(name: str, line: str) -> None:
    sys.stdout.write(f"{name} {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
