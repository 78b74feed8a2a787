from __future__ import annotations

from django.contrib import admin

from shared.admin.site import CONSOLE_PATHS, console_path, label_site


def test_console_paths_name_the_row():
    assert console_path("task", 7) == "/tasks/7"
    assert console_path("dead_letter", "a") == "/dead-letters/a"
    assert set(CONSOLE_PATHS) == {"task", "execution", "dead_letter", "bulk_job", "calendar"}


def test_the_admin_is_named():
    label_site()

    assert admin.site.site_header == "Punctual admin"
    assert admin.site.site_url is None
