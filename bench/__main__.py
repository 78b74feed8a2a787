"""``make bench``: the short selection, on an installation of its own.

At rest first, then a minute at a steady rate. The other reports are modules of their own.
"""

from __future__ import annotations

from bench import command_line, idle, installation, steady


def main(arguments: list[str]) -> int:
    """Run the short selection; 1 when one of its reports failed."""
    quiet = idle.options(["--start", "--seconds", "30", *arguments])
    load = steady.options(["--start", "--seconds", "60", *arguments])
    with installation.opened(load) as product:
        failed = idle.measure(product, quiet)
        failed |= steady.measure(product, load)
    return failed


if __name__ == "__main__":
    command_line.run(main)
