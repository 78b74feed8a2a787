"""Runs a report from the command line: one line instead of a traceback when it cannot run.

Exit codes: 0 passed, 1 a promise or target was missed, 2 the report could not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import NoReturn

from bench.installation import InstallationError
from operations.proof.client import ApiError


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """Call a report's main with the arguments given and exit with its code."""
    try:
        sys.exit(main(sys.argv[1:]))
    except* (ApiError, InstallationError, OSError) as group:
        for error in group.exceptions:
            print(f"the report could not run: {error}", file=sys.stderr)
    # Outside: before 3.11.4, Python wraps in a group every error that is raised in there.
    sys.exit(2)


def above_zero(word: str) -> int:
    """Read an option's number; argparse refuses what is none, or less than 1."""
    number = int(word)
    if number < 1:
        raise argparse.ArgumentTypeError("has to be 1 or more")
    return number
