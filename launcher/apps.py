"""The launcher app."""

from __future__ import annotations

from django.apps import AppConfig


class LauncherConfig(AppConfig):
    """The supervisor, the embedded servers and the entry points of processes."""

    name = "launcher"
