"""What an edit of a definition changes, as the audit log keeps it: no secret, no payload.

A value that must not be kept for ever is replaced by a keyed fingerprint, which differs where the
value does. It holds for one entry and place: if fingerprints could be compared between entries, an
editor could try values for a secret of another person. Of addresses the origin is shown: user,
path, query and fragment may be secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from events.audit.keys import fingerprint_of
from shared.addresses import written_origin
from shared.json_pointer import child
from shared.redaction import MASK
from tasks.definition import Definition, parts_of

#: Parts of a definition that facts of the task hold already, in clear.
_KEPT_IN_FACTS = ("name", "type", "schedule", "priority", "labels", "owner")
_URLS = ("#/target/url", "#/target/proxy/url", "#/target/auth/token_url", "#/payload_ref")
#: Places at and below which every value is replaced by its fingerprint.
_HIDDEN = (
    *("#/payload", "#/target/auth", "#/target/tls", "#/target/proxy", "#/target/headers"),
    *("#/target/environment", "#/target/arguments", "#/target/steps", "#/target/input_schema"),
)
_MOST = 100


def changes_of(
    before: Definition, after: Definition, context: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values that differ, before and after, by their JSON pointers.

    Of very many, ``further_changes`` counts those that are left out. ``context`` names the edit,
    such as the task and its new version.
    """
    old, new = dict(_flat(before)), dict(_flat(after))
    # What is shown comes first: many changed variables must not push an address out.
    places = sorted({**old, **new}, key=_is_hidden)
    changed = [place for place in places if old.get(place) != new.get(place)]
    left, changed = len(changed[_MOST:]), changed[:_MOST]
    was, now = (
        {place: _shown(place, old[place], context) for place in changed if place in old},
        {place: _shown(place, new[place], context) for place in changed if place in new},
    )
    return was, {**now, "#/further_changes": left} if left else now


def _flat(definition: Definition) -> Iterator[tuple[str, Any]]:
    for name, value in parts_of(definition).items():
        if name not in _KEPT_IN_FACTS:
            yield from _leaves(f"#/{name}", value)


def _leaves(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    # A payload is one value: its fields may be thousands, and their names may be data.
    if isinstance(value, Mapping) and place not in ("#/payload", "#/target/input_schema"):
        for key, item in value.items():
            yield from _leaves(child(place, str(key)), item)
    else:
        yield place, value


def _shown(place: str, value: Any, context: str) -> Any:
    if value is None:
        return None
    if place in _URLS and isinstance(value, str):
        return _url(value, f"{context} {place}")
    if _is_hidden(place):
        return _fingerprint(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), f"{context} {place}")
    return value


def _is_hidden(place: str) -> bool:
    return any(place == hidden or place.startswith(f"{hidden}/") for hidden in _HIDDEN)


def _url(url: str, context: str) -> str:
    """Return scheme, host and port, and a fingerprint of the whole address if it has more."""
    shown = written_origin(url)
    if not shown:
        return _fingerprint(url.encode(), context)
    return shown if shown == url else f"{shown} ({_fingerprint(url.encode(), context)})"


def _fingerprint(content: bytes, context: str) -> str:
    found = fingerprint_of(context.encode() + b"\0" + content)
    return f"fingerprint:{found}" if found else MASK
