"""Secrets that an edit keeps never go anywhere new.

A secret is never shown, so that an editor may not know it. If an edit moved the target and kept
the secret, the secret would go to a place of the editor's choice. An edit that moves a target must
therefore write its secrets anew. Validation checks every edit, replacement and copy. Going back to
a version needs no check: it takes the secrets back to where that version sent them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from shared.addresses import as_sent, origin_of
from shared.json_pointer import child
from tasks.field_reader import Errors, spell
from tasks.masking import SECRET_FIELDS, Place

REFUSED_CODE = "secret_required"


def refuse_moved(
    kept: Sequence[Place], before: Mapping[str, Any], after: Mapping[str, Any], errors: Errors
) -> None:
    """Note each kept secret that the target ``after`` would send elsewhere than ``before`` did.

    Both are in normal form and of one kind: another kind keeps nothing.
    """
    moved = list(_moved(before, after))
    for place in kept if moved else ():
        name = place.key.replace("_", " ") if place.part in SECRET_FIELDS else place.key[:100]
        message = (
            f"Write the value of {name} anew, or remove it: "
            f"a kept secret does not follow a change of {spell(moved)}."
        )
        errors.add(child(child("#/target", place.part), place.key), REFUSED_CODE, message)


def is_moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether the target ``after`` goes elsewhere than ``before``, of the same kind."""
    return any(_moved(before, after))


def _moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words each changed setting that decides where secrets go."""
    if before["kind"] == "command":
        yield from (f"the {name}" for name in _COMMAND if before[name] != after[name])
    elif before["kind"] == "webhook":
        yield from _moved_origin(before["url"], after["url"])
        yield from (name for name, of in _WAYS.items() if of(before) != of(after))


def _moved_origin(before: str, after: str) -> Iterator[str]:
    old, new = origin_of(before), origin_of(after)
    if old is None or new is None:
        yield from ["the URL"] if before != after else []
        return
    names = ("scheme", "host", "port")
    changed = [name for name, was, now in zip(names, old, new, strict=True) if was != now]
    # A scheme brings its port along.
    changed = [name for name in changed if name != "port" or "scheme" not in changed]
    if changed:
        yield f"the {spell(changed, 'and')} of the URL"


def _token_url(target: Mapping[str, Any]) -> str | None:
    url = (target["auth"] or {}).get("token_url")
    return url and as_sent(url)


def _proxy(target: Mapping[str, Any]) -> Any:
    url = (target["proxy"] or {}).get("url")
    return url and (origin_of(url) or url)


def _trust(target: Mapping[str, Any]) -> tuple[bool, str | None]:
    tls = target["tls"] or {}
    return tls.get("verify", True), tls.get("ca_certificates")


#: The command, its arguments, and the pool whose workers run it.
_COMMAND = ("command", "arguments", "pool")
#: Words -> a setting that decides, beside the origin of the URL, where a webhook's secrets go.
_WAYS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "the token URL": _token_url,
    "the proxy": _proxy,
    "which certificates are trusted": _trust,
}
