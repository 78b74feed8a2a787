"""How often Python's garbage collector runs in a process.

By default it runs after every 700 new containers. The loops make a hundred for each execution,
hardly any in a reference cycle, and spent a tenth of their time in the collector. Called once,
when a process has started.
"""

from __future__ import annotations

import gc

_YOUNG = 20_000
_GENERATIONS = 20


def collect_seldom() -> None:
    """Exempt the objects made so far, and collect after twenty thousand new containers."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _GENERATIONS, _GENERATIONS)
