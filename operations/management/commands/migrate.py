"""``manage.py migrate``: Django's own command, one at a time; machines may start together."""

from __future__ import annotations

import threading
from typing import Any

from django.core.management.commands import migrate

from shared.sql import rows

_LOOK_SECONDS = 0.5


class Command(migrate.Command):
    """Update the database schema; wait while another machine does."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Django's command under a lock of the database's session."""
        if not rows("migrating/try_to_lock")[0][0]:
            self.stdout.write("Another process migrates this database; waiting for its end.")
            pause = threading.Event()
            while not rows("migrating/try_to_lock")[0][0]:
                pause.wait(_LOOK_SECONDS)
        try:
            super().handle(*args, **options)
        finally:
            rows("migrating/let_go")
