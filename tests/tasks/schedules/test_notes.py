from __future__ import annotations

from tasks.schedules import base
from tasks.schedules.notes import NOTE_TEXTS


def test_every_note_has_its_words():
    notes = {base.DST_GAP, base.DST_OVERLAP, base.CALENDAR_EXCLUDED, base.CALENDAR_ROLLED}

    assert set(NOTE_TEXTS) == notes
