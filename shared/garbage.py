"""How often a process looks for circles in memory.

Python looks after every 700 new containers. The loops make a hundred for each execution, hardly
any in a circle, and spent a tenth of their time in looking. Called once, when a process has
started.
"""

from __future__ import annotations

import gc

_YOUNG = 20_000
_GENERATIONS = 20


def collect_seldom() -> None:
    """Leave out what the start has made, and look after twenty thousand new containers."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _GENERATIONS, _GENERATIONS)
