"""Masks the fields of a payload or an answer that a definition names in ``redact``, as JSON paths.

Everything that shows a payload masks here, also for those who have the right to see payloads. What
cannot be judged is masked whole: with paths, a text that is not one JSON document shows nothing.
The stored value stays as it is, and where a person sends the mask back it takes the mask's place.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from shared.json_path import MISSING, Step, parse_path, read
from shared.redaction import MASK


def redacted(value: Any, paths: Sequence[str]) -> Any:
    """Return a JSON value with a mask in place of each value at one of the paths.

    Shares with the value what has no mask. A text at the root is masked as the JSON in it.
    """
    if not paths or value is None:
        return value
    if isinstance(value, str):
        return redacted_text(value, paths)
    for path in paths:
        value = _masked(value, parse_path(path))
    return value


def redacted_text(text: str, paths: Sequence[str], *, truncated: bool = False) -> str:
    """Return a text with the fields of its JSON masked; MASK where it is no whole JSON document."""
    if not paths or not text:
        return text
    document = MISSING if truncated else _document(text)
    if document is MISSING:
        return MASK
    shown = redacted(document, paths)
    if shown is document:
        return text
    written = json.dumps(shown, ensure_ascii=False)
    # Half of a surrogate pair, which JSON can escape and no answer can carry.
    return written if _is_unicode(written) else json.dumps(shown)


def restored(written: Any, before: Any, paths: Sequence[str]) -> Any:
    """Return a value that a person wrote with each mask replaced by what stood in its place."""
    if not paths:
        return written
    if written == redacted(before, paths):
        return before
    for path in paths:
        steps = parse_path(path)
        kept = read(before, steps)
        if read(written, steps) == MASK and kept is not MISSING:
            written = _with(written, steps, kept)
    return written


def masks_in(value: Any, paths: Sequence[str]) -> list[str]:
    """Return the paths at which a value holds a mask, which must not be stored as a value.

    A text at the root is read as the JSON in it.
    """
    if not paths:
        return []
    if isinstance(value, str):
        if value == MASK:
            return list(paths)
        value = _document(value)
    return [path for path in paths if read(value, parse_path(path)) == MASK]


def _document(text: str) -> Any:
    """Return the object, list or plain value of a JSON text; MISSING for what cannot be judged.

    That is also a text, and an object that has a name twice: a path finds only one of the values.
    """
    try:
        document = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return MISSING
    return MISSING if isinstance(document, str) else document


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _masked(value: Any, steps: Sequence[Step]) -> Any:
    found = read(value, steps)
    # Nothing is there, or nothing that tells something.
    return value if found is MISSING or found is None else _with(value, steps, MASK)


def _with(value: Any, steps: Sequence[Step], item: Any) -> Any:
    """Return the value with an item at a place that exists; neither is changed."""
    if not steps:
        return item
    step, *inside = steps
    changed: Any = dict(value) if isinstance(step, str) else list(value)
    changed[step] = _with(value[step], inside, item)
    return changed
