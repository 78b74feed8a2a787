"""``manage.py top``: the installation on a terminal, with keys; see ``status`` for scripts.

Exit codes: 0 ended with ``q``; 2 without a terminal; 130 Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from operations.top import terminal
from shared.command_parser import HelpFormatter, examples_text
from shared.commands import WRONG_USE, Error, PunctualCommand, wrong_use

_SECONDS, _SHORTEST = 2.0, 0.2


class Command(PunctualCommand):
    """Shows what runs, waits and failed, and the workers, and cancels or retries a row."""

    help = (
        "Show live what is under way, waiting and failed, and the workers; filter it, cancel or "
        "retry a row. It needs a terminal: scripts take `status --jsonl --watch`."
    )

    def add_options(self, parser: CommandParser) -> None:
        """Add the interval."""
        parser.formatter_class = HelpFormatter
        parser.epilog = examples_text(("top", "top --interval 5"))
        parser.add_argument(
            "--interval",
            type=float,
            default=_SECONDS,
            metavar="SECONDS",
            help=f"read again after this time ({_SECONDS:g})",
        )

    def run(self, options: Mapping[str, Any]) -> None:
        """Show the screen until it is left."""
        if options["interval"] < _SHORTEST:
            raise wrong_use("--interval", f"at least {_SHORTEST:g} s")
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            message = "top needs a terminal. Use `status --watch`, with --jsonl in scripts."
            raise Error(message, returncode=WRONG_USE)
        terminal.run(options["interval"])
