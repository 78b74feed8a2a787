"""The schedule in the task's form: times, zone, and policies around them.

``form`` reads and shows it with the other parts. Fields of the other type of task,
which validation refuses, are left out. Plain words are read at the database's time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dashboard.task_form.values import (
    Form,
    lines,
    read_instant,
    read_number,
    show_instant,
    show_plain,
    zone_or_utc,
)
from executions.loop.clocks import database_now
from shared.clock_text import clock_text
from shared.instants import parse_instant
from tasks.choices import TIMING_FIELDS
from tasks.definition import ONE_TIME_SCHEDULE_DEFAULTS, RECURRING_SCHEDULE_DEFAULTS
from tasks.plain_times.reading import read_when
from tasks.plain_times.vocabulary import PlainTimeError
from tasks.schedules.zones import UnknownZone, find_zone

#: A hidden field of the preview: the time that it showed for plain words, and these words.
SHOWN = "words_shown"
#: The fields of a new form.
EMPTY: Mapping[str, str] = {
    "when": "cron",
    "timezone": "UTC",
    "every_unit": "M",
    "every_count": "5",
    "delay_seconds": "60",
    "jitter_seconds": "0",
    "misfire_policy": "coalesce",
    "misfire_coalesce": "latest",
    "misfire_replay_per_second": "10",
    "overlap_policy": "allow",
    "calendar_policy": "skip",
    "dst_gap": "next_valid",
    "dst_overlap": "first",
}
UNITS = {"S": "seconds", "M": "minutes", "H": "hours", "D": "days"}
#: Fields that show a value of the schedule as it is.
PLAIN = (
    "timezone",
    "jitter_seconds",
    "misfire_policy",
    "misfire_grace_seconds",
    "misfire_coalesce",
    "misfire_replay_limit",
    "misfire_replay_per_second",
    "overlap_policy",
    "max_concurrent",
    "calendar_policy",
    "working_day",
    "dst_gap",
    "dst_overlap",
    "max_occurrences",
)
_EVERY = re.compile(r"P(?:(\d+)D)|PT(?:(\d+)([HMS]))")
_RECURRING = ("cron", "every")
_RECURRING_ONLY = RECURRING_SCHEDULE_DEFAULTS.keys() - ONE_TIME_SCHEDULE_DEFAULTS.keys()
_CRON_ONLY = ("dst_gap", "dst_overlap", "working_day")
_WORDS = ("misfire_policy", "overlap_policy", "calendar_policy")


def show_schedule(schedule: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields that show a schedule, or as much of it as is given."""
    shown = {**EMPTY, **_show_when(schedule)}
    given = {name: schedule[name] for name in PLAIN if schedule.get(name) is not None}
    shown |= {name: show_plain(value) for name, value in given.items()}
    shown["calendars"] = "\n".join(schedule.get("calendars") or ())
    zone = zone_or_utc(shown["timezone"])
    for name in ("start_at", "end_at"):
        shown[name] = show_instant(schedule.get(name), zone)
    if "run_at" in schedule:
        shown["run_at"] = show_instant(schedule["run_at"], zone)
    return shown


def read_schedule(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schedule that the form describes; errors are noted in the form."""
    understood = _in_words(form)
    when = _kind_of(understood) if understood is not None else form.text("when", "cron")
    dropped = {*TIMING_FIELDS} if when in _RECURRING else {*TIMING_FIELDS, *_RECURRING_ONLY}
    # Fields of the other type of task would be refused.
    same_type = (when in _RECURRING) == any(base.get(name) for name in ("cron_expression", "every"))
    schedule = {k: v for k, v in base.items() if k not in dropped} if same_type else {}
    schedule["timezone"] = form.text("timezone", "UTC")
    schedule |= {name: form.text(name, EMPTY[name]) for name in _WORDS}
    schedule["calendars"] = [name for name in lines(form.fields.get("calendars", "")) if name]
    for name in ("misfire_grace_seconds", "max_concurrent"):
        schedule |= read_number(form, name, f"#/schedule/{name}")
    schedule |= {"jitter_seconds": 0}
    schedule |= read_number(form, "jitter_seconds", "#/schedule/jitter_seconds", keep=False)
    schedule |= _read_timing(form, when, base) if understood is None else {}
    if when in _RECURRING:
        schedule |= _read_recurring(form, base)
        schedule = _fitting(form, schedule, when)
    return schedule | (understood or {})


def runs_once(schedule: Mapping[str, Any]) -> bool:
    """Return whether a schedule as it was read is that of a task that runs once."""
    return "run_at" in schedule or "delay_seconds" in schedule


def expression_of(schedule: Mapping[str, Any]) -> str:
    """Return the cron expression, the rate or the time of a schedule as it was read."""
    return next((str(schedule[name]) for name in TIMING_FIELDS if schedule.get(name)), "")


def _in_words(form: Form) -> dict[str, Any] | None:
    """Return the fields that plain words mean, None where the form says when otherwise."""
    if form.text("when") != "words":
        return None
    try:
        zone = find_zone(form.text("timezone", "UTC"))
    except UnknownZone:
        zone = find_zone("UTC")  # validation says so of the zone itself
    try:
        found = read_when(form.text("words"), now=database_now(), zone=zone).schedule
    except PlainTimeError as error:
        form.refuse("#/schedule/words", "words_not_understood", str(error))
        return {}
    shown, _, words = form.text(SHOWN).partition(" ")
    if "run_at" in found and words == form.text("words") and shown != found["run_at"]:
        meant = clock_text(parse_instant(found["run_at"]), "weekday")
        message = f"By now this means {meant}, another time than was shown. Save it again if so."
        form.refuse("#/schedule/words", "words_moved", message)
    return found


def _kind_of(understood: Mapping[str, Any]) -> str:
    named = {"every": "every", "run_at": "at", "delay_seconds": "after"}
    return next((kind for name, kind in named.items() if name in understood), "cron")


def _show_when(schedule: Mapping[str, Any]) -> dict[str, str]:
    if schedule.get("cron_expression"):
        return {"when": "cron", "cron_expression": schedule["cron_expression"]}
    if schedule.get("every"):
        found = _EVERY.fullmatch(schedule["every"])
        count, unit = (found[1] or found[2], found[3] or "D") if found else ("", "S")
        shown = {"when": "every", "every_count": count, "every_unit": unit}
        return shown if found else {**shown, "every": schedule["every"]}
    if schedule.get("run_at"):
        return {"when": "at"}
    return {}


def _read_timing(form: Form, when: str, base: Mapping[str, Any]) -> dict[str, Any]:
    if when == "every":
        if base.get("every") and form.same("every_count", "every_unit"):
            return {"every": base["every"]}
        count, unit = form.text("every_count"), form.fields.get("every_unit", "M")
        if not count.isascii() or not count.isdecimal() or unit not in UNITS:
            form.refuse("#/schedule/every", "invalid", "Give a whole number and a unit.")
            return {}
        return {"every": f"P{count}D" if unit == "D" else f"PT{count}{unit}"}
    if when == "at":
        return {"run_at": read_instant(form, "run_at", base, required=True)}
    if when == "after":
        return read_number(form, "delay_seconds", "#/schedule/delay_seconds")
    if when != "cron":
        message = "Choose when: by cron, at a fixed rate, or once."
        form.refuse("#/schedule", "invalid_choice", message)
        return {}
    return {"cron_expression": form.text("cron_expression")}


def _read_recurring(form: Form, base: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: read_instant(form, name, base) for name in ("start_at", "end_at")
    }
    for name in ("max_occurrences", "misfire_replay_limit"):
        found |= read_number(form, name, f"#/schedule/{name}")
    found["misfire_coalesce"] = form.text("misfire_coalesce", EMPTY["misfire_coalesce"])
    name = "misfire_replay_per_second"
    found |= {name: 10, **read_number(form, name, f"#/schedule/{name}", keep=False)}
    return found


def _fitting(form: Form, schedule: dict[str, Any], when: str) -> dict[str, Any]:
    """Return the schedule with the other fields of its kind, and without fields of other kinds."""
    if when == "cron":
        words = {name: form.text(name) for name in ("dst_gap", "dst_overlap")}
        given = {name: word for name, word in words.items() if word}
        return schedule | given | read_number(form, "working_day", "#/schedule/working_day")
    fitting = {name: value for name, value in schedule.items() if name not in _CRON_ONLY}
    if fitting["start_at"] is None:
        # Without the field the rate keeps its own beginning.
        del fitting["start_at"]
    return fitting
