"""``manage.py migrate``: Django's own command, one at a time; machines may start together."""

from __future__ import annotations

import threading
from typing import Any

from django.conf import settings
from django.core.management.commands import migrate

from operations.database_roles.granting import RoleNotMade
from operations.database_roles.loops import close_functions, make_loops_role
from operations.database_roles.making import make_roles
from shared.sql import rows

_LOOK_SECONDS = 0.5


class Command(migrate.Command):
    """Update the database schema, then row security; wait while another machine does."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run Django's command under a lock of the database's session."""
        if not rows("migrating/try_to_lock")[0][0]:
            self.stdout.write("Another process migrates this database; waiting for its end.")
            pause = threading.Event()
            while not rows("migrating/try_to_lock")[0][0]:
                pause.wait(_LOOK_SECONDS)
        try:
            super().handle(*args, **options)
            self._wall(options)
        finally:
            rows("migrating/let_go")

    def _wall(self, options: dict[str, Any]) -> None:
        """Bring roles and policies up to date; without an address a process keeps the owner's."""
        if options.get("plan") or options.get("check_unapplied"):
            return
        web, loops = settings.WEB_DATABASE_URL, settings.LOOPS_DATABASE_URL
        try:
            if web:
                make_roles(web)
        except RoleNotMade as error:
            self.stderr.write(f"Row security is not complete: {error.message}")
        try:
            if loops:
                make_loops_role(loops, web)
            else:
                close_functions()
        except RoleNotMade as error:
            self.stderr.write(f"The role of the loops is not complete: {error.message}")
