"""The secrets of a target: masked wherever a definition is shown, kept where the mask comes back.

Only this module defines which ones there are: fields of the authentication, the client's key and
the proxy's password, every variable of a command, and the headers that ``shared.http_headers``
calls secret.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from shared.addresses import written_origin
from shared.http_headers import is_secret_header
from shared.named_secrets.references import shows_no_secret
from shared.payload_sight import HIDDEN, hide_url, is_hidden, only
from shared.redaction import MASK
from tasks.sealed_targets import ORIGIN

#: Part of a target -> its fields that no answer shows.
SECRET_FIELDS: dict[str, tuple[str, ...]] = {
    "auth": ("password", "token", "value", "client_secret"),
    "tls": ("client_key",),
    "proxy": ("password",),
}
#: Parts of a target whose values are all secret.
ALL_SECRET = ("environment",)
_HEADERS = "headers"
_PARTS = (*SECRET_FIELDS, *ALL_SECRET, _HEADERS)


#: The fields of a target that are shown without the right to see payloads; of a URL all but its
#: query. Fields that tell what is sent, or what an answer has to hold, are not among them.
SEEN_OF_TARGET = frozenset(
    {
        *("kind", "method", "timeout_seconds", "connect_timeout_seconds", "completion"),
        *("heartbeat_timeout_seconds", "max_runtime_seconds", "template", "follow_redirects"),
        *("body_format", "pool", "handler", "command", "cancel_grace_seconds", "requires"),
        *("success_exit_codes", "memory_bytes", "on_failure", "max_concurrent"),
        *("deadline_seconds", "deadline_at", "deadline_timezone"),
    }
)
#: The same of a step of a workflow.
SEEN_OF_STEP = frozenset(
    {
        *("key", "kind", "depends_on", "condition", "retry_policy", "timeout_seconds", "priority"),
        *("pool", "max_parallel", "min_success_share", "deadline_seconds", "deadline_at"),
        *("deadline_timezone", "workflow_id", "delay_seconds", "event", "sensitive"),
        *("accept_earlier_seconds", "redact"),
    }
)
#: The same of an edit of a task.
_SEEN_OF_PATCH = frozenset(
    {
        *("redact", "name", "labels", "owner", "type", "priority", "schedule", "retry_policy"),
        *("concurrency", "targets"),
        *("on_failure", "max_concurrent", "deadline_seconds", "deadline_at", "deadline_timezone"),
    }
)


class Place(NamedTuple):
    """The place of a secret in a target: the part and the key in it."""

    part: str
    key: str


def mask_target(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target with its secrets masked; absent and null ones stay so.

    Parts without secrets are the target's own; callers must not change them.
    """
    shown = dict(target)
    for part in _PARTS:
        inside = shown.get(part)
        if isinstance(inside, Mapping):
            masked = {key: MASK for key in _secret_keys(part, inside) if _is_secret(inside[key])}
            shown[part] = {**inside, **masked} if masked else inside
    return seen_target(shown)


def seen_target(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the target, without the right to see payloads only what does not tell of them."""
    if not is_hidden():
        return dict(target)
    shown = only(target, SEEN_OF_TARGET)
    if isinstance(target.get("url"), str):
        shown["url"] = hide_url(target["url"])
    if isinstance(target.get("headers"), Mapping):
        shown["headers"] = dict.fromkeys(target["headers"], HIDDEN)
    return shown


def readable_target(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a target may be stored unsealed: the fields above, and the origin of its URL.

    The origin is there, empty where there is no URL, so that the rest is known to be elsewhere.
    """
    url = target.get("url")
    origin = written_origin(url) if isinstance(url, str) else target.get(ORIGIN, "")
    return {**{key: target[key] for key in target if key in SEEN_OF_TARGET}, ORIGIN: origin}


def seen_patch(patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return an edit with its masked target; without the right, nothing that tells payloads."""
    if not is_hidden():
        return dict(patch)
    shown = only(patch, _SEEN_OF_PATCH)
    if isinstance(patch.get("target"), Mapping):
        shown["target"] = seen_target(patch["target"])
    return shown


def seen_step(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a step with its masked target; without the right, nothing that tells payloads."""
    if not is_hidden():
        return step
    shown = only(step, SEEN_OF_STEP)
    if isinstance(step.get("target"), Mapping):
        shown["target"] = step["target"]
    return shown


def masked_places(target: Mapping[str, Any]) -> Iterator[Place]:
    """Yield each place where the target holds a mask in place of a secret."""
    for part in _PARTS:
        inside = target.get(part)
        if isinstance(inside, Mapping):
            yield from (
                Place(part, key) for key in _secret_keys(part, inside) if inside[key] == MASK
            )


def keep_masked(
    written: Mapping[str, Any], stored: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Place]]:
    """Return the target with each mask replaced by the secret stored in its place, and the places.

    A mask without a stored secret stays: validation refuses it.
    """
    kept = dict(written)
    places = []
    for place in masked_places(written):
        secret = _stored_in(stored, place)
        if secret is not None:
            kept[place.part] = {**kept[place.part], place.key: secret}
            places.append(place)
    return kept, places


def _stored_in(stored: Mapping[str, Any], place: Place) -> Any:
    inside = stored.get(place.part)
    if not isinstance(inside, Mapping):
        return None
    if place.part != _HEADERS:
        return inside.get(place.key)
    # Names of headers ignore case.
    wanted = place.key.lower()
    return next((value for name, value in inside.items() if name.lower() == wanted), None)


def _is_secret(value: Any) -> bool:
    """Return whether a value is masked: not one that only names a secret, which is no secret."""
    return value is not None and not (isinstance(value, str) and shows_no_secret(value))


def _secret_keys(part: str, inside: Mapping[str, Any]) -> list[str]:
    if part in ALL_SECRET:
        return list(inside)
    if part == _HEADERS:
        return [name for name in inside if is_secret_header(name)]
    return [key for key in SECRET_FIELDS[part] if key in inside]
