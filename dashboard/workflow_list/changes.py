"""The changes of the list editor, each applied to the definition of a draft.

Pure. A change sets what it names and leaves everything else of the definition as it is, also what
the list does not show. Where a change takes more with it, it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dashboard.workflow_list import fields, kinds, rows, values
from dashboard.workflow_list.draft import WORKFLOW, Draft, Unread, refused, sort_step
from dashboard.workflow_list.fields import Field, Path


def apply(draft: Draft, sent: Mapping[str, str], chosen: Sequence[str]) -> None:
    """Apply the change that the page has sent; ``chosen`` are the values of its field.

    Raise InvalidInput where there is no such change, step or field; the draft is unchanged then.
    """
    name = sent.get("do", "show")
    change = _CHANGES.get(name)
    if change is None:
        raise refused("There is no such change.")
    card = sent.get("card", "")
    number = int(card) if card.isascii() and card.isdecimal() and len(card) <= 6 else WORKFLOW
    change(draft, number, sent.get("field", "")[:200], chosen)


def _show(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    """Change nothing."""


def _undo(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    draft.changed = True
    draft.said = "The last change is undone."


def _go(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    if card == WORKFLOW:
        draft.focus = (card, name)
        return
    draft.place(card)
    draft.show(card, name)


def _page(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    draft.focus = (WORKFLOW, "page")


def _set(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    part = draft.part(card)
    found = fields.workflow_parts(part) if card == WORKFLOW else fields.step_parts(part)
    known = {"/".join(one.path): one for group in found for one in group.fields}
    field = known.get(name)
    if field is None:
        raise refused("There is no such field in the list. Nothing was changed.")
    if field.widget == "keys":
        _wait_for(draft, part, chosen)
        return
    text = chosen[0] if chosen else ""
    special = _SPECIAL.get(field.path)
    if special:
        special(draft, part, text)
        return
    try:
        value = values.read(field.widget, text)
    except values.Unreadable as unreadable:
        draft.unread = Unread(card, field.path, text, str(unreadable))
        return
    if _as_shown(text) == _as_shown(shown_text(part, field)):
        return
    if field.default and value == (
        field.default == "yes" if field.widget == "truth" else field.default
    ):
        value = values.ABSENT
    before = part.get("key") if field.path == ("key",) else None
    put(part, field.path, value)
    draft.changed = True
    if field.path == (fields.LIMIT,) and isinstance(part.get("schedule"), dict):
        # Validation refuses two different values.
        part["schedule"].pop(fields.LIMIT, None)
    if before is not None:
        rows.follow_key(draft, part, before)
    if field.path[-1] == "backoff":
        kinds.keep_waits(draft, part, text)


def shown_text(part: Mapping[str, Any], field: Field) -> str:
    """Return the text of a field, its default where it has no value."""
    return values.show(field.widget, value_at(part, field.path)) or field.default


def value_at(part: Any, path: Iterable[str]) -> Any:
    """Return the value at a place, ABSENT where there is none."""
    for name in path:
        if not isinstance(part, Mapping) or name not in part:
            return values.ABSENT
        part = part[name]
    return part


def put(part: dict[str, Any], path: Path, value: Any) -> None:
    """Set a value at a place, or take it away; an object that is left empty goes, but a target."""
    first, rest = path[0], path[1:]
    if rest:
        inside = part.get(first)
        inside = {} if inside is None else inside
        if not isinstance(inside, dict):
            raise refused(f"{first} is not an object. Mend it as text.")
        if value is values.ABSENT and first not in part:
            return
        put(inside, rest, value)
        value = inside if inside or first == "target" else values.ABSENT
    if value is values.ABSENT:
        part.pop(first, None)
        return
    is_new = first not in part
    part[first] = value
    if is_new:
        sort_step(part)


def _as_shown(text: str) -> str:
    return text.replace("\r\n", "\n")


def _wait_for(draft: Draft, step: dict[str, Any], chosen: Sequence[str]) -> None:
    before = step.get("depends_on")
    old = before if isinstance(before, list) else []
    wanted = list(dict.fromkeys(one for one in chosen if one))
    keys_of_steps = [one.get("key") for one in draft.steps if isinstance(one, dict)]
    if any(one not in old and one not in keys_of_steps for one in wanted):
        raise refused("There is no such step. Nothing was changed.")
    # What is no key cannot be chosen, and stays.
    kept = [one for one in old if not isinstance(one, str) or one in wanted]
    keys = [*kept, *(one for one in wanted if one not in kept)]
    if keys == old:
        return
    put(step, ("depends_on",), keys or values.ABSENT)
    draft.changed = True


_Change = Callable[[Draft, int, str, Sequence[str]], None]
_CHANGES: Mapping[str, _Change] = {
    "show": _show,
    "undo": _undo,
    "go": _go,
    "page": _page,
    "set": _set,
    "add": rows.add,
    "behind": rows.add_behind,
    "duplicate": rows.duplicate,
    "remove": rows.remove,
    "up": rows.up,
    "down": rows.down,
}
_SPECIAL: Mapping[Path, Callable[[Draft, dict[str, Any], str], None]] = {
    fields.KIND: kinds.change_kind,
    fields.TIMING: kinds.change_timing,
    fields.UNDONE_BY: kinds.undo_by,
}
