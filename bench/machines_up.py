"""``manage.py up`` as a machine of its own runs it: on a host of the stand, under the host's name.

Started by the stand in place of ``manage.py up``, whose process id it keeps. What the machine knows
of the others are the variables that it is given: its data directory is its own.
Run: ``python -m bench.machines_up machine-1``.
"""

from __future__ import annotations

import os
import sys

from bench.chaos.hosts import PROCESSES, Host

#: Name -> its host: the two of the stand's hosts whose addresses are those of web servers.
MACHINES: dict[str, Host] = {"machine-1": PROCESSES["web-1"], "machine-2": PROCESSES["web-2"]}
#: What is needed beside what hosts need.
PROGRAMS = ("unshare", "hostname")


def command(name: str) -> tuple[str, ...]:
    """Return the command that runs ``up`` on a machine, with the machine's name as its host's."""
    named = ("unshare", "--uts", "--", "sh", "-c", 'hostname "$0" && exec "$@"', name)
    return MACHINES[name].command(*named, sys.executable, "manage.py", "up")


def main() -> None:
    """Become that command."""
    words = command(sys.argv[1])
    os.execvp(words[0], words)  # noqa: S606 - no shell: words of our own


if __name__ == "__main__":
    main()
