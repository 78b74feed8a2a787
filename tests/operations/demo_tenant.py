"""The demo tenant of tests: its receiver is on an address that webhooks may reach here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shared.conf import conf

RECEIVER = "http://127.0.0.1:8001/"


def allow_receiver(settings: Any) -> None:
    """Let tasks call the test receiver, as `up` does."""
    settings.PUNCTUAL = replace(conf(), webhook_allowed_networks=("127.0.0.1/32",))
