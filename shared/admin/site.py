"""The admin's name, and the paths of the console that its rows lead to."""

from __future__ import annotations

from typing import Any

from django.contrib import admin

#: Where the console shows one of each; plain paths, since the console is the layer above.
CONSOLE_PATHS = {
    "task": "/tasks/{}",
    "execution": "/executions/{}",
    "dead_letter": "/dead-letters/{}",
    "bulk_job": "/bulk-jobs/{}",
    "calendar": "/settings/calendars/{}",
}


def console_path(kind: str, key: Any) -> str:
    """Return the console's path of a task, execution, dead letter, bulk job or calendar."""
    return CONSOLE_PATHS[kind].format(key)


def label_site() -> None:
    """Name the admin; its way back to the console is in the template, not ``site_url``."""
    admin.site.site_title = "Punctual admin"
    admin.site.site_header = "Punctual admin"
    admin.site.index_title = "Administration"
    admin.site.site_url = None
    # Lists need the width; the index and the breadcrumbs reach every page.
    admin.site.enable_nav_sidebar = False
