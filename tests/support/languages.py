"""The interpreters of this machine, for the samples in other languages.

Nothing is installed here: ``.ci/languages`` does that where it can be done without asking.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

#: What a sample is run with, in its folder, by language; PORT is where it listens.
COMMANDS: dict[str, tuple[str, ...]] = {
    "python": (sys.executable, "receiver.py"),
    "javascript": ("node", "receiver.js"),
    "java": ("java", "Receiver.java"),
    "ruby": ("ruby", "receiver.rb"),
    "php": ("php", "-S", "127.0.0.1:PORT", "receiver.php"),
}
#: Larger than all the others together, so it is used where it stands and never installed.
_OPTIONAL = frozenset({"java"})


def is_installed(language: str) -> bool:
    """Return whether samples of the language can be run here."""
    program = shutil.which(COMMANDS[language][0])
    if program is None:
        return False
    if language != "java":
        return True
    # A runtime alone cannot compile the one file.
    call = [program, "--list-modules"]
    found = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    return "jdk.compiler" in found.stdout


def is_required(language: str) -> bool:
    """Return whether its absence is a failure: CI says so when it could install it."""
    return os.environ.get("PUNCTUAL_LANGUAGES") == "required" and language not in _OPTIONAL
