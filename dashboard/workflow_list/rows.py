"""The steps of a draft as rows: added, copied, removed, moved, renamed.

Pure. Steps that wait for one that is renamed or removed are changed with it, and the draft says so.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.workflow_list import values
from dashboard.workflow_list.draft import Draft, listed, refused
from shared.redaction import MASK
from tasks.limits import STEP_KEY_LENGTH, STEPS

_NUMBERED = re.compile(r"_[0-9]{1,4}$", re.ASCII)


def follow_key(draft: Draft, step: dict[str, Any], before: Any) -> None:
    """Let the steps that wait for a renamed step wait for it under its new key."""
    key = step.get("key")
    others = [one for one in draft.steps if isinstance(one, dict) and one is not step]
    if not isinstance(key, str) or any(one.get("key") in (before, key) for one in others):
        return
    named = [one for one in others if _replace(one, before, [key])]
    parts = [f"{_names(named)} now {_waits(named)} for {key}."] if named else []
    if MASK in values.show("json", step):
        parts.append("Its stored secrets belong to the old key: type them again.")
    draft.said = " ".join(parts)


def _replace(step: dict[str, Any], key: Any, by: Sequence[Any]) -> bool:
    """Put other keys in the place of one that the step waits for; return whether it was there."""
    waits = step.get("depends_on")
    if not isinstance(waits, list) or key not in waits:
        return False
    place = waits.index(key)
    new = [one for one in by if one not in waits]
    step["depends_on"] = [*waits[:place], *new, *waits[place + 1 :]]
    if not step["depends_on"]:
        del step["depends_on"]
    return True


def add(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    """Add a step at the end."""
    _insert(draft, len(draft.steps), {"key": _free_key(draft, "step"), "target": {}})


def add_behind(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    """Add a step behind another one, for which it waits."""
    before = draft.part(card).get("key")
    step: dict[str, Any] = {"key": _free_key(draft, "step")}
    if isinstance(before, str):
        step["depends_on"] = [before]
    _insert(draft, draft.place(card) + 1, {**step, "target": {}})


def duplicate(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    """Add a copy of a step behind it, under a key of its own."""
    step = copy.deepcopy(draft.part(card))
    key = step.get("key")
    step["key"] = _free_key(draft, _NUMBERED.sub("", key) if isinstance(key, str) else "step")
    _insert(draft, draft.place(card) + 1, step)
    if MASK in values.show("json", step):
        draft.said += " Secrets are not copied: type them again."


def _insert(draft: Draft, place: int, step: dict[str, Any]) -> None:
    if len(draft.steps) >= STEPS:
        raise refused(f"A workflow has at most {STEPS:,} steps.")
    draft.insert(place, step)
    draft.changed = True
    draft.said = f"Added {step['key']}."


def _free_key(draft: Draft, stem: str) -> str:
    """Return a key that no step has: the stem with the first number that makes one."""
    taken = {str(one.get("key")) for one in draft.steps if isinstance(one, dict)}
    first = 1 if stem == "step" else 2
    short = stem[: STEP_KEY_LENGTH - 5] or "step"
    numbers = range(first, len(taken) + first + 1)
    return next(key for number in numbers if (key := f"{short}_{number}") not in taken)


def remove(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    """Remove a step; what waited for it waits for what that waited for."""
    place = draft.place(card)
    step = draft.steps.pop(place)
    draft.cards.pop(place)
    draft.opened.discard(card)
    draft.changed = True
    key = step.get("key") if isinstance(step, dict) else None
    draft.said = f"Removed {str(key)[:STEP_KEY_LENGTH]}." if key else "Removed the step."
    if isinstance(key, str) and not any(
        isinstance(one, dict) and one.get("key") == key for one in draft.steps
    ):
        draft.said += _bridge(draft, key, step.get("depends_on"))
    draft.focus = (draft.cards[min(place, len(draft.cards) - 1)], "") if draft.cards else (0, "add")


def _bridge(draft: Draft, key: str, waits: Any) -> str:
    """Let what waited for a removed step wait for what that waited for; say so."""
    before = [one for one in waits if one != key] if isinstance(waits, list) else []
    steps = [one for one in draft.steps if isinstance(one, dict)]
    named = [one for one in steps if _replace(one, key, [w for w in before if w != one.get("key")])]
    if not named:
        return ""
    if not before:
        return f" {_names(named)} no longer {_waits(named)} for it."
    return f" {_names(named)} now {_waits(named)} for {listed([str(one) for one in before])}."


def up(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    """Move a step before the one above it."""
    _move(draft, card, -1)


def down(draft: Draft, card: int, name: str, chosen: Sequence[str]) -> None:
    """Move a step behind the one below it."""
    _move(draft, card, 1)


def _move(draft: Draft, card: int, by: int) -> None:
    place = draft.place(card)
    other = place + by
    if not 0 <= other < len(draft.steps):
        draft.said = "It is the first step." if by < 0 else "It is the last step."
        return
    for rows in (draft.steps, draft.cards):
        rows[place], rows[other] = rows[other], rows[place]
    draft.changed = True
    draft.show(card, "@up" if by < 0 else "@down")
    draft.said = f"Moved to place {other + 1} of {len(draft.steps)}."


def _names(steps: Sequence[Mapping[str, Any]]) -> str:
    return listed([str(one.get("key", "A step"))[:STEP_KEY_LENGTH] for one in steps])


def _waits(steps: Sequence[Any]) -> str:
    return "wait" if len(steps) > 1 else "waits"
