"""Settings of a worker that says ten times a second what it holds."""

from __future__ import annotations

from dataclasses import replace

from scheduler_site.settings import *  # noqa: F403 - the settings are the same ones
from scheduler_site.settings import PUNCTUAL

PUNCTUAL = replace(PUNCTUAL, worker_heartbeat_seconds=0.1)
