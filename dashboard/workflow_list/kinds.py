"""Changes of a kind in a draft: of a step, of what undoes it, of the schedule, of the backoff.

Pure. The fields that the new kind does not have are removed, since validation refuses them; the
draft says which.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dashboard.workflow_list import fields
from dashboard.workflow_list.draft import Draft, listed, refused, sort_step
from tasks.choices import TARGET_KINDS, TIMING_FIELDS, TaskType
from tasks.definition import ONE_TIME_SCHEDULE_DEFAULTS, RECURRING_SCHEDULE_DEFAULTS
from tasks.validation.steps import COMMON_FIELDS, FIELDS_BY_KIND

#: Backoff -> the fields of a retry policy that say its waits.
_WAITS: Mapping[str, tuple[str, ...]] = {
    "exponential": ("initial_delay_seconds", "factor", "max_delay_seconds"),
    "fixed": ("initial_delay_seconds",),
    "listed": ("delays_seconds",),
}
#: Fields of a schedule that one kind of it does not have.
_OF_RECURRING = RECURRING_SCHEDULE_DEFAULTS.keys() - ONE_TIME_SCHEDULE_DEFAULTS.keys()
_OF_CRON = frozenset(("working_day", "calendar_policy"))


def change_kind(draft: Draft, step: dict[str, Any], kind: str) -> None:
    """Make a step one of another kind, without the fields that this kind does not have."""
    if kind == fields.kind_of(step):
        return
    _known_kind(kind, (*TARGET_KINDS, *FIELDS_BY_KIND))
    own = "target" if kind in TARGET_KINDS else kind
    fitting = {*COMMON_FIELDS, *FIELDS_BY_KIND[own]}
    others = {name for names in FIELDS_BY_KIND.values() for name in names} - fitting
    lost = [name for name in step if name in others]
    for name in lost:
        del step[name]
    if own == "target":
        step.pop("kind", None)
        lost += _retarget(step, kind)
        lost += [name for name in fields.OF_TARGET if _misfits(step, name, kind)]
    else:
        step["kind"] = kind
    sort_step(step)
    draft.changed = True
    draft.said = _lost(lost, fields.kind_label(kind))


def _misfits(step: dict[str, Any], name: str, kind: str) -> bool:
    """Take away a field that a step may give in place of its target, of another kind."""
    if name in fields.fields_of_target(kind) or name not in step:
        return False
    del step[name]
    return True


def _retarget(part: dict[str, Any], kind: str) -> list[str]:
    """Make the target one of another kind; return the fields that this kind does not have."""
    target = part.get("target")
    before = target if isinstance(target, dict) else {}
    fitting = fields.fields_of_target(kind)
    # A pool of another kind has other workers.
    kept = {
        name: value
        for name, value in before.items()
        if name in fitting and name not in ("kind", "pool", "handler")
    }
    part["target"] = kept if kind == "webhook" else {"kind": kind, **kept}
    return [f"target.{name}" for name in before if name not in kept and name != "kind"]


def _known_kind(kind: str, known: Iterable[str]) -> None:
    if kind not in known or kind == "target":
        raise refused("There is no such kind. Nothing was changed.")


def undo_by(draft: Draft, step: dict[str, Any], kind: str) -> None:
    """Make what undoes a step one of another kind, or nothing."""
    undo = step.get("compensate")
    if not kind:
        if undo is not None:
            del step["compensate"]
            draft.changed, draft.said = True, "Nothing undoes the step now."
        return
    _known_kind(kind, TARGET_KINDS)
    if not isinstance(undo, dict):
        undo = step["compensate"] = {}
    elif kind == fields.target_kind(undo.get("target")) and "target" in undo:
        return
    draft.said = _lost(_retarget(undo, kind), fields.kind_label(kind))
    draft.changed = True


def change_timing(draft: Draft, body: dict[str, Any], name: str) -> None:
    """Change when the workflow runs; '' is only when asked."""
    schedule = body.get("schedule")
    if name == fields.timing_of(schedule) and (name or schedule is None):
        return
    if not name:
        lost = [one for one in schedule if one not in TIMING_FIELDS] if schedule else []
        body.pop("schedule", None)
        draft.said = _lost([f"schedule.{one}" for one in lost], "a workflow without a schedule")
    else:
        if name not in TIMING_FIELDS:
            raise refused("There is no such schedule. Nothing was changed.")
        before = schedule if isinstance(schedule, Mapping) else {}
        kept = {one: value for one, value in before.items() if one not in TIMING_FIELDS}
        refusing, owner = _refusing(name)
        lost = [one for one in kept if one in refusing and kept[one] is not None]
        body["schedule"] = {name: ""} | {
            one: value for one, value in kept.items() if one not in refusing
        }
        draft.said = _lost([f"schedule.{one}" for one in lost], owner)
    draft.changed = True


def _refusing(timing: str) -> tuple[Collection[str], str]:
    """Return the fields that a schedule of this timing does not have, and what to call it."""
    if TIMING_FIELDS[timing] == TaskType.ONE_TIME:
        return _OF_RECURRING, "a single run"
    return (_OF_CRON, "an interval") if timing == "every" else ((), "")


def keep_waits(draft: Draft, step: dict[str, Any], backoff: str) -> None:
    """Keep only the waits that the backoff of a retry policy has."""
    policy = step.get("retry_policy")
    fitting = _WAITS.get(backoff)
    if not isinstance(policy, dict) or fitting is None:
        return
    waits = {name for names in _WAITS.values() for name in names}
    lost = [name for name in policy if name in waits and name not in fitting]
    for name in lost:
        del policy[name]
    draft.said = _lost(lost, "this backoff")


def _lost(names: Sequence[str], owner: str) -> str:
    return f"Removed, because {owner} has no such field: {listed(names)}." if names else ""
