#!/usr/bin/env python
"""Entry point of every command: ``manage.py up`` starts the whole of Punctual."""

from __future__ import annotations

import os
import secrets
import sys


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "scheduler_site.settings")
    command = sys.argv[1:2]
    if command == ["up"]:
        os.environ.setdefault("PROCESS_KIND", "supervisor")
    _log_whole_output("".join(command))
    _leave_root("".join(command))
    _provide_secrets(command)
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"Error: {error}")
    finally:
        if os.geteuid() == 0:
            _give_back()


def _log_whole_output(command: str) -> None:
    """Let a process that lives long write nothing but log lines, where these are JSON."""
    from django.core.exceptions import ImproperlyConfigured

    from shared import env, log_output, logs

    if command != "up" and not command.startswith("run_"):
        return
    try:
        as_json = env.boolean("LOG_JSON", False)
    except ImproperlyConfigured as error:
        sys.exit(f"Error: {error}")
    if as_json:
        logs.configure({"json": True})
        log_output.take_over()


def _give_back() -> None:
    """Let what root has written in the data directory belong to who runs there."""
    from launcher import adoption, local_state

    adoption.give_back(local_state.data_dir())


def _leave_root(command: str) -> None:
    """Let no process of ours run as root; other commands of root's run as root."""
    if os.geteuid() != 0:
        from launcher import kept_rights

        kept_rights.keep_only_what_is_needed(command)
    elif command == "up" or command.startswith("run_"):
        from launcher import leaving_root
        from launcher.privileges import PrivilegeError

        try:
            leaving_root.leave_root()
        except PrivilegeError as error:
            sys.exit(f"Error: {error}")


def _provide_secrets(command: list[str]) -> None:
    from launcher import local_state

    if command == ["up"]:
        # The settings need secrets, and a first start is what makes them.
        local_state.ensure_secrets(local_state.data_dir())
    elif command in (["down"], ["ps"], ["restore"]) and not local_state.load_secrets(
        local_state.data_dir()
    ):
        # Nothing was ever started here; these sign nothing.
        os.environ.setdefault("SECRET_KEY", secrets.token_urlsafe(32))


if __name__ == "__main__":
    main()
