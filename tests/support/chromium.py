"""The browser of this machine, for tests and pictures that need a real one.

Nothing is downloaded: Debian's Chromium or Google's Chrome is used where it is installed.
"""

from __future__ import annotations

import os
import shutil

from playwright.sync_api import Browser, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str | None:
    """Return the path of an installed browser, or None."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def is_chromium_required() -> bool:
    """Return whether its absence is a failure: where somebody says so, or CI could install it."""
    said = os.environ.get("PUNCTUAL_BROWSER", "")
    if said:
        return said == "required"
    could = os.geteuid() == 0 and shutil.which("apt-get") is not None
    return os.environ.get("CI") == "true" and could


def launch_chromium(playwright: Playwright, path: str) -> Browser:
    """Start the browser without a window."""
    return playwright.chromium.launch(executable_path=path, args=flags())


def flags() -> list[str]:
    """Return what the browser is started with."""
    # Chromium's sandbox refuses to run for root.
    return ["--no-sandbox", *_FLAGS] if os.geteuid() == 0 else list(_FLAGS)
