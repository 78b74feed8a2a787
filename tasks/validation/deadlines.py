"""Validation of deadlines, of a workflow's runs and of its steps: after seconds, or at a time."""

from __future__ import annotations

import re
from typing import Any

from tasks.field_reader import FieldReader
from tasks.limits import Limits
from tasks.schedules.zones import UnknownZone, find_zone

FIELDS = ("deadline_seconds", "deadline_at", "deadline_timezone")
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_ZONE_LENGTH = 255


def read_deadline(reader: FieldReader, limits: Limits) -> dict[str, Any]:
    """Return the fields of a deadline in normal form; note what is wrong.

    ``deadline_seconds`` count from the begin; ``deadline_at`` is a time of day, in
    ``deadline_timezone`` or else in the zone of the schedule.
    """
    seconds = reader.number("deadline_seconds", None, 1, limits.run_seconds, nullable=True)
    at = reader.text("deadline_at", None, longest=5, nullable=True)
    zone = reader.text("deadline_timezone", None, longest=_ZONE_LENGTH, nullable=True)
    if at is not None and not _TIME.fullmatch(at):
        reader.error("deadline_at", "invalid", "Write a time of day as '06:00'.")
    if at is not None and seconds is not None:
        message = "Give deadline_seconds or deadline_at, not both."
        reader.error("deadline_at", "exclusive", message)
    if zone is not None and at is None:
        reader.error("deadline_timezone", "not_applicable", "Only deadline_at has a zone.")
    elif zone is not None:
        try:
            find_zone(zone)
        except UnknownZone as unknown:
            reader.error("deadline_timezone", "timezone_unknown", str(unknown))
    return {"deadline_seconds": seconds, "deadline_at": at, "deadline_timezone": zone}
