"""Whether the one who asks may see payloads: what was sent, answered and printed.

Doors state it once for the request, around everything that it reads (:func:`sight`); the functions
that show something mask it here. Work itself is not masked: an operator without the right may retry
an execution, whose payload stays as it is. Commands and the admin site see all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from shared.exceptions import Forbidden
from shared.field_redaction import redacted
from shared.sight import Sight

#: In place of a value that may not be seen.
HIDDEN = "[hidden]"

_sight = Sight("payloads_hidden")
sight, begin, end, is_hidden = _sight.within, _sight.begin, _sight.end, _sight.is_hidden


class PayloadsHidden(Forbidden):
    """This needs the right to see payloads. An admin of the tenant gives it."""

    code = "payloads_hidden"


def require() -> None:
    """Raise PayloadsHidden where payloads are masked."""
    if is_hidden():
        raise PayloadsHidden


def hide(value: Any, redact: Sequence[str] = ()) -> Any:
    """Return the value, or HIDDEN in its place; nothing stays nothing.

    ``redact`` has the JSON paths of fields that are masked for everyone.
    """
    return HIDDEN if value not in (None, "") and is_hidden() else redacted(value, redact)


def hide_url(url: str) -> str:
    """Return the URL, where payloads are masked without its query and fragment."""
    if not is_hidden():
        return url
    bare = url.partition("#")[0].partition("?")[0]
    return bare if bare == url else f"{bare}?{HIDDEN}"


def only(values: Mapping[str, Any], seen: Collection[str]) -> dict[str, Any]:
    """Return the values, where payloads are masked only those named in ``seen``."""
    if not is_hidden():
        return dict(values)
    return {name: value if name in seen else hide(value) for name, value in values.items()}
