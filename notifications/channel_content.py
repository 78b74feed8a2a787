"""From the body of a call to a channel: its name, its URL, and which rules' alerts it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from notifications.choices import ALERT_KINDS, ChannelKind
from notifications.transports.chat import MAX_URL_LENGTH, ChatPlace, read_chat_url
from notifications.transports.webhook import check_webhook_url
from shared.addresses import UrlError
from shared.json_pointer import child
from tasks.field_reader import Errors, FieldReader, spell, suggest

NAME_LENGTH = 100
MOST_RULES = 100
#: The longest time before an alert escalates.
LONGEST_WAIT = 24 * 3600
_FIELDS = ("name", "kind", "url", "kinds", "rules", "after_seconds")


@dataclass(frozen=True, slots=True)
class Content:
    """What a call asks for; None for what it leaves out.

    ``place`` is what may be shown of the URL.
    """

    name: str | None = None
    kind: str | None = None
    url: str | None = field(default=None, repr=False)
    place: ChatPlace | None = None
    kinds: list[str] | None = None
    rules: list[UUID] | None = None
    after_seconds: int | None = None


def read_new(body: Mapping[str, Any]) -> Content:
    """Return the content of a new channel; raise InvalidInput."""
    errors = Errors()
    reader = FieldReader(body, "#", errors)
    reader.refuse_unknown(_FIELDS)
    reader.require("name", "Give the channel a name.")
    reader.require("kind", f"Give the kind: {spell(ChannelKind.values)}.")
    reader.require("url", "Give the URL that messages go to.")
    kind = reader.choice("kind", ChannelKind.values, "")
    content = _read(reader, kind)
    errors.raise_if_any()
    return content


def read_changes(body: Mapping[str, Any], kind: str) -> Content:
    """Return the changes of a channel, whose kind stays; raise InvalidInput."""
    errors = Errors()
    reader = FieldReader(body, "#", errors)
    reader.refuse_unknown([one for one in _FIELDS if one != "kind"], read_only=("kind",))
    content = _read(reader, kind)
    errors.raise_if_any()
    return content


def _read(reader: FieldReader, kind: str) -> Content:
    url, place = _url(reader, kind)
    return Content(
        name=reader.text("name", None, longest=NAME_LENGTH),
        kind=kind,
        url=url,
        place=place,
        kinds=_kinds(reader) if "kinds" in reader.data else None,
        rules=_rules(reader) if "rules" in reader.data else None,
        after_seconds=reader.integer("after_seconds", None, 0, LONGEST_WAIT),
    )


def _url(reader: FieldReader, kind: str) -> tuple[str | None, ChatPlace | None]:
    url: str | None = reader.text("url", None, longest=MAX_URL_LENGTH)
    if url is None or not kind:
        return None, None
    try:
        if kind == ChannelKind.CHAT:
            return url, read_chat_url(url)
        return url, ChatPlace(ChannelKind.WEBHOOK, check_webhook_url(url).host)
    except UrlError as error:
        reader.error("url", error.code, error.message)
        return None, None


def _kinds(reader: FieldReader) -> list[str]:
    given = reader.sequence("kinds", [])
    for place, kind in enumerate(given):
        if kind not in ALERT_KINDS:
            message = f"Use {spell(ALERT_KINDS)}.{suggest(str(kind), ALERT_KINDS)}"
            reader.errors.add(
                f"{child(reader.pointer, 'kinds')}/{place}", "invalid_choice", message
            )
    return [kind for kind in ALERT_KINDS if kind in given]


def _rules(reader: FieldReader) -> list[UUID]:
    given = reader.sequence("rules", [])
    if len(given) > MOST_RULES:
        reader.error("rules", "too_many", f"Give at most {MOST_RULES}.")
        return []
    found: dict[UUID, None] = {}
    for place, text in enumerate(given):
        try:
            found[UUID(text)] = None
        except (ValueError, AttributeError, TypeError):
            at = f"{child(reader.pointer, 'rules')}/{place}"
            reader.errors.add(at, "invalid", "Give the id of an alert rule.")
    return list(found)
