"""Processor time and memory of all processes together while nothing is due.

Targets: under 3 % of one core, under 700 MB. Run: ``python -m bench.idle --start``.
"""

from __future__ import annotations

import argparse
import asyncio

from bench import command_line, installation, report
from bench.processes import usage

TARGET_PERCENT = 3.0
TARGET_MB = 700.0


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
    megabytes = sum(last.memory_bytes.values()) / 1e6
    passed = percent < TARGET_PERCENT and megabytes < TARGET_MB
    lines = [
        f"idle for {chosen.seconds:g} s: {percent:.2f} % of one core (target under "
        f"{TARGET_PERCENT:g} %), {megabytes:.0f} MB (target under {TARGET_MB:g})",
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
