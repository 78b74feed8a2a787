"""The base of commands that run until they are stopped."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from shared.log_output import take_over


class LongLivedCommand(BaseCommand):
    """A command whose whole output is the log where lines are JSON, its last words included."""

    # They start before the database does, or check what they need themselves.
    requires_system_checks = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Before: the command keeps the streams that it finds.
        if settings.LOGGING["json"]:
            take_over()
        super().__init__(*args, **kwargs)
