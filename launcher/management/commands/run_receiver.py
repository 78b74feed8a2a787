"""Runs the built-in test receiver on 127.0.0.1 until it is stopped; uses no database."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from receiver.server import add_arguments, options_of, serve
from shared.receiver_address import key_of


class Command(BaseCommand):
    """``run_receiver [--port N] [--ledger FILE] [--ledgers DIR] [--control FILE] …``."""

    help = "Run the built-in test receiver (http://127.0.0.1:PORT/ lists its paths)."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the receiver's own options."""
        add_arguments(parser, settings.PUBLIC_URL)

    def handle(self, *args: Any, **options: Any) -> None:
        """Serve until SIGTERM or SIGINT."""
        chosen = replace(options_of(options), key=key_of(settings.SECRET_KEY))
        try:
            serve(chosen, self._announce)
        except (OSError, ValueError) as error:
            raise CommandError(str(error)) from error

    def _announce(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
