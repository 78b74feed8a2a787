"""Processor time of all processes together while nothing is due.

Target: under 5 % of one core. Run: ``python -m bench.idle --start``.
"""

from __future__ import annotations

import argparse
import asyncio

from bench import command_line, installation, report
from bench.processes import usage

TARGET_PERCENT = 5.0


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--settle", type=float, default=15, help="seconds to wait before")
    installation.add_arguments(parser)
    report.add_arguments(parser)
    return parser.parse_args(arguments)


def measure(product: installation.Installation, chosen: argparse.Namespace) -> int:
    """Measure an installation at rest and publish; 1 when it is over the target."""
    kinds = product.kinds()
    asyncio.run(asyncio.sleep(chosen.settle))
    first = usage(kinds)
    asyncio.run(asyncio.sleep(chosen.seconds))
    last = usage(kinds)
    cpu = last.cpu_since(first)
    percent = 100 * sum(cpu.values()) / chosen.seconds
    passed = percent < TARGET_PERCENT
    lines = [
        f"idle for {chosen.seconds:g} s: {percent:.2f} % of one core (target under 5 %)",
        *report.usage_lines(cpu, last.memory_bytes, chosen.seconds),
        "PASSED" if passed else "FAILED",
    ]
    figures = {
        "seconds": chosen.seconds,
        "cpu_percent": round(percent, 3),
        "cpu_seconds": cpu,
        "memory_bytes": last.memory_bytes,
        "processes": last.counts,
        "passed": passed,
    }
    report.publish("idle", figures, lines, chosen)
    return 0 if passed else 1


def main(arguments: list[str]) -> int:
    """Run the report from a command line."""
    chosen = options(arguments)
    with installation.opened(chosen) as product:
        return measure(product, chosen)


if __name__ == "__main__":
    command_line.run(main)
