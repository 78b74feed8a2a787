"""``top`` on a terminal, by curses."""

from __future__ import annotations

import curses
import time
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection

from executions.changes.cancellation import cancel_execution
from executions.dead_letters.letters import retry_dead_letter
from operations.top.screen import Act, Screen
from operations.top.tables import TABS
from shared.actor import COMMAND
from shared.commands import first_line
from shared.exceptions import PunctualError
from shared.redis_client import ConnectionFailed

_NAMES = {
    curses.KEY_LEFT: "left",
    curses.KEY_RIGHT: "right",
    curses.KEY_UP: "up",
    curses.KEY_DOWN: "down",
    curses.KEY_ENTER: "enter",
    curses.KEY_BACKSPACE: "backspace",
    "\n": "enter",
    "\r": "enter",
    "\t": "right",
    "\x1b": "escape",
    "\x7f": "backspace",
    "\b": "backspace",
}
_ESCAPE_MS = 25


def run(interval: float) -> None:
    """Show the screen until ``q`` or Ctrl-C."""
    curses.set_escdelay(_ESCAPE_MS)
    curses.wrapper(_loop, interval)


def act(wanted: Act) -> str:
    """Do what was confirmed, as a command does; return what to say of it."""
    row = wanted.row
    assert row.tenant_id is not None  # noqa: S101 - asked for rows of tenants only
    assert row.id is not None  # noqa: S101 - as above
    try:
        if wanted.key == "C":
            found = cancel_execution(row.tenant_id, row.id, actor=COMMAND)
            return f"{row.cells[0]} is {found.status}."
        made = retry_dead_letter(row.tenant_id, row.id, None, actor=COMMAND)
    except PunctualError as error:
        return error.message
    return f"Retried as {made.id}."


def read(screen: Screen) -> None:
    """Read the tab again; say what does not answer, and keep what was read before."""
    try:
        screen.show(TABS[screen.name]())
    except DatabaseError as error:
        connection.close()
        screen.message = f"The database does not answer. {first_line(error)}"
    except ConnectionFailed as error:
        screen.message = f"Redis does not answer. {first_line(error)}"


def _loop(window: Any, interval: float) -> None:
    curses.curs_set(0)
    screen = Screen()
    while not screen.ended:
        read(screen)
        again, name = time.monotonic() + interval, screen.name
        while screen.is_open(name) and (left := again - time.monotonic()) > 0:
            _draw(window, screen)
            window.timeout(max(1, int(left * 1000)))
            try:
                key = window.get_wch()
            except curses.error:
                break  # The time is over.
            screen.message = ""
            wanted = screen.press(_NAMES.get(key, key if isinstance(key, str) else ""))
            if wanted is not None:
                screen.message = act(wanted)
                break


def _draw(window: Any, screen: Screen) -> None:
    height, width = window.getmaxyx()
    styles = {
        "plain": curses.A_NORMAL,
        "heading": curses.A_BOLD,
        "chosen": curses.A_REVERSE,
        "bar": curses.A_DIM,
    }
    window.erase()
    # The last place of a screen cannot be written.
    for number, (text, style) in enumerate(list(screen.lines(width - 1, height))[:height]):
        window.addstr(number, 0, text, styles[style])
    window.refresh()
