"""The notes of an occurrence in plain words, for the console and commands."""

from __future__ import annotations

from tasks.schedules.base import CALENDAR_EXCLUDED, CALENDAR_ROLLED, DST_GAP, DST_OVERLAP

NOTE_TEXTS = {
    DST_GAP: "the clocks skip its time",
    DST_OVERLAP: "occurs twice (clocks go back)",
    CALENDAR_EXCLUDED: "a calendar excludes it",
    CALENDAR_ROLLED: "a calendar moved it",
}
