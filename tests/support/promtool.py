"""The tool of Prometheus that checks rules and metrics, where this machine has it.

Nothing is installed here: ``.ci/prometheus`` does that where it can be done without asking.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def promtool(*arguments: str, text: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run it; skip the test where it is not installed, unless CI says that it could install it."""
    program = shutil.which("promtool")
    if program is None:
        if os.environ.get("PUNCTUAL_PROMTOOL") == "required":
            pytest.fail("promtool is not installed, and PUNCTUAL_PROMTOOL requires it")
        pytest.skip("needs promtool (apt-get install prometheus)")
    return subprocess.run([program, *arguments], input=text, capture_output=True, check=False)
