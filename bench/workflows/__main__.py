"""``python -m bench.workflows PART``: what runs of workflows take, and whether faults break them.

Those that measure start an installation of their own with ``--start``. Exit codes as every report.
"""

from __future__ import annotations

import argparse
from typing import Any

from bench import command_line
from bench.workflows import chain, fan_out, head_to_head, many, pages, proofs, retry

PARTS: tuple[Any, ...] = (chain, fan_out, many, pages, retry, head_to_head)


def options(arguments: list[str]) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(prog="python -m bench.workflows", description=__doc__)
    parsers = parser.add_subparsers(required=True, metavar="PART")
    for part in PARTS:
        part.add_parser(parsers)
    proofs.add_parsers(parsers)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Run the part that is chosen."""
    chosen = options(arguments)
    return int(chosen.run(chosen))


if __name__ == "__main__":
    command_line.run(main)
