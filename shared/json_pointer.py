"""Places in a JSON document as errors name them: ``#/payload/items/0``."""

from __future__ import annotations

import re

_SHOWN_KEY = 100
_UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\ud800-\udfff]")


def child(pointer: str, key: str) -> str:
    """Return the pointer to a field; a hostile name is shown cut and without odd characters."""
    if len(key) <= _SHOWN_KEY and key.isascii() and key.isidentifier():
        return f"{pointer}/{key}"
    shown = _UNPRINTABLE.sub("?", str(key)[:_SHOWN_KEY])
    return f"{pointer}/{shown.replace('~', '~0').replace('/', '~1')}"
