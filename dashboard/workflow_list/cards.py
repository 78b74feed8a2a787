"""A draft as the templates show it: the fields of the workflow, and a card for each step.

Pure. Every error of validation appears at its field, or at its card where the list has no field for
its place. The fields of a step are made for open cards only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.workflow_list import fields
from dashboard.workflow_list.changes import shown_text, value_at
from dashboard.workflow_list.draft import PAGE, WORKFLOW, Draft, Unread, listed
from dashboard.workflow_list.fields import Field, Part, Path
from dashboard.workflow_list.values import ABSENT
from shared.exceptions import FieldError
from tasks.limits import STEP_KEY_LENGTH

#: With more other steps than this, they are offered in a select in place of boxes.
_MOST_BOXES = 24
_SHOWN = 120
#: Widgets with several lines.
_AREAS = ("json", "headers", "pairs", "lines", "area")
#: Kind -> where what it calls is named.
_CALLS: Mapping[str, tuple[Path, ...]] = {
    "webhook": (("target", "method"), ("target", "url")),
    "pool": (("target", "pool"), ("target", "handler")),
    "handler": (("target", "handler"),),
    "command": (("target", "command"),),
    "workflow": (("workflow_id",),),
    "wait_for_event": (("event",),),
}


@dataclass(frozen=True, slots=True)
class Choice:
    """A word that a field may have."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field with its text, its choices, and what is wrong with it."""

    id: str
    name: str
    label: str
    widget: str
    text: str
    hint: str
    place: str
    #: Lines of a text area; 0 for a field of one line.
    rows: int
    is_wide: bool
    choices: Sequence[Choice] = ()
    #: Of the steps that a step waits for: those that are offered in a select.
    others: Sequence[str] = ()
    error: str = ""
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class PartView:
    """A part of a card that unfolds; open where one of its fields is set or wrong."""

    title: str
    fields: Sequence[FieldView]
    is_open: bool
    is_wrong: bool


@dataclass(slots=True)
class Card:
    """A step of the list; ``parts`` are there only where it is open."""

    number: int
    place: int
    key: str
    kind: str
    calls: str
    waits: str
    is_open: bool
    errors: int = 0
    parts: Sequence[PartView] = ()
    #: Errors that the list has no field for, and the fields that are set and not shown.
    problems: list[str] = field(default_factory=list)
    hidden: str = ""


@dataclass(frozen=True, slots=True)
class ListView:
    """The list as a page shows it."""

    parts: Sequence[PartView]
    problems: Sequence[str]
    hidden: str
    cards: Sequence[Card]
    total: int
    pages: Sequence[Choice]


def list_view(draft: Draft, errors: Sequence[FieldError]) -> ListView:
    """Return what the templates show of a draft and its errors."""
    inside = [error for error in errors if _step_of(error.pointer) is None]
    shown, problems = _shown_parts(draft, WORKFLOW, inside, "#")
    hidden = _hidden(draft.body, fields.workflow_parts(draft.body), ("steps",))
    by_place: dict[int, list[FieldError]] = {}
    for error in errors:
        place = _step_of(error.pointer)
        if place is not None:
            by_place.setdefault(place, []).append(error)
    first = draft.page * PAGE
    places = range(first, min(first + PAGE, len(draft.steps)))
    total = len(draft.steps)
    pages = [
        Choice(str(page), f"{page * PAGE + 1}–{min((page + 1) * PAGE, total)}", page == draft.page)
        for page in range(-(-total // PAGE))
    ]
    cards = [_card(draft, place, by_place.get(place, [])) for place in places]
    return ListView(shown, problems, hidden, cards, total, pages if len(pages) > 1 else ())


def field_id(card: int, name: str) -> str:
    """Return the id of a field on the page."""
    return f"s{card}-{name.replace('/', '-').replace('@', '')}"


def place_of(draft: Draft, pointer: str) -> tuple[int, str]:
    """Return the card and the field that show the place of an error; '' for the card itself."""
    place = _step_of(pointer)
    if place is None:
        return WORKFLOW, _nearest(fields.workflow_parts(draft.body), pointer, "#")
    if not 0 <= place < len(draft.steps):
        return WORKFLOW, ""
    step = draft.steps[place]
    parts = fields.step_parts(step) if isinstance(step, Mapping) else []
    return draft.cards[place], _nearest(parts, pointer, f"#/steps/{place}")


def _step_of(pointer: str) -> int | None:
    parts = pointer.split("/")
    if len(parts) < 3 or parts[1] != "steps" or not parts[2].isdecimal():
        return None
    return int(parts[2])


def _card(draft: Draft, place: int, errors: Sequence[FieldError]) -> Card:
    number, step = draft.cards[place], draft.steps[place]
    unread = draft.unread if draft.unread and draft.unread.card == number else None
    card = Card(
        number=number,
        place=place + 1,
        key="",
        kind="",
        calls="",
        waits="",
        is_open=number in draft.opened,
        errors=len(errors) + bool(unread),
    )
    if not isinstance(step, Mapping):
        card.problems = [error.message for error in errors]
        return card
    kind = fields.kind_of(step)
    card.key = _cut(step.get("key"), STEP_KEY_LENGTH)
    card.kind = fields.kind_label(kind)
    card.calls = _calls(step, kind)
    card.waits = _waits(step.get("depends_on"))
    if card.is_open:
        pointer = f"#/steps/{place}"
        card.parts, card.problems = _shown_parts(draft, number, errors, pointer)
        card.hidden = _hidden(step, fields.step_parts(step), ("kind",))
    return card


def _calls(step: Mapping[str, Any], kind: str) -> str:
    if kind == "delay":
        return f"{_cut(step.get('delay_seconds'))} seconds" if step.get("delay_seconds") else ""
    found = (value_at(step, path) for path in _CALLS.get(kind, ()))
    return " ".join(_cut(one) for one in found if one is not ABSENT and one)


def _waits(given: Any) -> str:
    keys = given if isinstance(given, list) else []
    return listed([_cut(key, STEP_KEY_LENGTH) for key in keys]) if keys else ""


def _cut(value: Any, most: int = _SHOWN) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _shown_parts(
    draft: Draft, card: int, errors: Sequence[FieldError], pointer: str
) -> tuple[list[PartView], list[str]]:
    """Return the parts with their texts and errors, and the errors that have no field."""
    part = draft.part(card)
    groups = fields.workflow_parts(part) if card == WORKFLOW else fields.step_parts(part)
    unread = draft.unread if draft.unread and draft.unread.card == card else None
    wrong: dict[str, str] = {}
    problems: list[str] = []
    for error in errors:
        name = _nearest(groups, error.pointer, pointer)
        if name:
            wrong[name] = f"{wrong[name]} {error.message}" if name in wrong else error.message
        else:
            place = error.pointer.removeprefix(pointer).strip("/").replace("/", ".")
            problems.append(f"{place}: {error.message}" if place else error.message)
    shown = []
    for group in groups:
        views = [_field_view(draft, card, one, wrong, unread) for one in group.fields]
        is_wrong = any(one.error for one in views)
        is_set = any(value_at(part, one.path) is not ABSENT for one in group.fields)
        shown.append(PartView(group.title, views, is_set or is_wrong, is_wrong))
    return shown, problems


def _field_view(
    draft: Draft, card: int, one: Field, wrong: Mapping[str, str], unread: Unread | None
) -> FieldView:
    part, name = draft.part(card), "/".join(one.path)
    text, error, is_unread = _text_of(part, one), wrong.get(name, ""), False
    if unread and unread.path == one.path:
        text, error, is_unread = unread.text, unread.message, True
    choices: list[Choice] = []
    others: list[str] = []
    widget = one.widget
    if widget == "keys":
        choices, others = _keys(draft, part)
    elif one.options:
        options = list(one.options)
        if text not in dict(options):
            options.insert(0, (text, text))
        choices = [Choice(value, label, value == text) for value, label in options]
        widget = "choice"
    return FieldView(
        id=field_id(card, name),
        name=name,
        label=one.label,
        widget=widget,
        text=text,
        hint=one.hint,
        place=one.place,
        rows=min(12, max(2, text.count("\n") + 1)) if one.widget in _AREAS else 0,
        is_wide=one.is_wide or one.widget in _AREAS,
        choices=choices,
        others=others,
        error=error,
        is_unread=is_unread,
    )


def _text_of(part: Mapping[str, Any], one: Field) -> str:
    if one.path == fields.KIND:
        return fields.kind_of(part)
    if one.path == fields.TIMING:
        return fields.timing_of(part.get("schedule"))
    if one.path == fields.UNDONE_BY:
        undo = part.get("compensate")
        target = undo.get("target") if isinstance(undo, Mapping) else None
        return "" if undo is None else fields.target_kind(target)
    return "" if one.widget == "keys" else shown_text(part, one)


def _keys(draft: Draft, step: Mapping[str, Any]) -> tuple[list[Choice], list[str]]:
    """Return the steps that a step waits for and may wait for: as boxes, or most in a select."""
    given = step.get("depends_on")
    chosen = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
    keys = [
        key
        for one in draft.steps
        if one is not step and isinstance(one, Mapping) and isinstance(key := one.get("key"), str)
    ]
    known = list(dict.fromkeys(keys))
    few = len(known) <= _MOST_BOXES
    boxes = [*dict.fromkeys(chosen), *(key for key in known if few and key not in chosen)]
    if few:
        order = {key: place for place, key in enumerate(known)}
        boxes.sort(key=lambda key: order.get(key, -1))
    others = [] if few else [key for key in known if key not in set(chosen)]
    return [Choice(key, key, key in chosen) for key in boxes], others


def _nearest(parts: Sequence[Part], pointer: str, at: str) -> str:
    """Return the name of the field that shows a place, '' where none does."""
    inside = pointer.removeprefix(at).strip("/").replace("target/kind", "kind", 1)
    names = {_place(one.path): "/".join(one.path) for part in parts for one in part.fields}
    # Validation judges these in the target, also where the step gives them.
    names |= {f"target/{name}": name for name in fields.OF_TARGET if name in names}
    fits = [place for place in names if f"{inside}/".startswith(f"{place}/")]
    return names[max(fits, key=len)] if fits else ""


def _place(path: Path) -> str:
    """Return the place of a field in the definition; that of a choice is what it chooses for."""
    if path == fields.KIND:
        return "kind"
    return "/".join(path[:-1] if path[-1].startswith("@") else path)


def _hidden(part: Mapping[str, Any], parts: Sequence[Part], beside: tuple[str, ...]) -> str:
    """Return the fields that are set and that the list does not show."""
    shown = {one.path for group in parts for one in group.fields} | {(one,) for one in beside}
    inner = {path[:length] for path in shown for length in range(1, len(path))}
    names = [".".join(path) for path in _leaves(part, (), shown, inner)]
    return listed([_cut(name) for name in names]) if names else ""


def _leaves(
    part: Mapping[str, Any], at: Path, shown: set[Path], inner: set[Path]
) -> Iterator[Path]:
    for name, value in part.items():
        path = (*at, str(name))
        if path in shown or value is None or path[-2:] == ("target", "kind"):
            continue
        if path in inner and isinstance(value, Mapping):
            yield from _leaves(value, path, shown, inner)
        else:
            yield path
